-- What can be done at a turn names each stretch of turns once.
local stretches = require("trimpoint.model.stretches")

local function typed(...)
  return table.concat(
    vim.tbl_map(function(act)
      return act.typed
    end, stretches.acts(...)),
    " "
  )
end

assert(
  typed(2, 2, 4)
    == "/clear 2..2 /clear ..2 /clear 2..4 /compact 2..2 /compact ..2 /compact 2..4 "
      .. "/mask 2..2 /mask ..2 /mask 2..4"
)
assert(typed(1, 1, 1) == "/clear 1..1 /compact 1..1 /mask 1..1")
assert(typed(2, 3, 4) == "/clear 2..3 /compact 2..3 /mask 2..3")
local words = stretches.acts(1, 1, 2)[2].words
assert(words == "Clear turns 1 to 2, from here on: the agent forgets turns 1 to 2", words)
