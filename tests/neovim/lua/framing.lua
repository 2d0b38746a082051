-- Lines are cut at \n alone, however the bytes arrive.
local framing = require("trimpoint.rpc.framing")

local sent = "one\n\ntwo\226\128\168still two\rstill\nthree\n"
local wanted = { "one", "", "two\226\128\168still two\rstill", "three" }
for first = 0, #sent do
  for second = first, #sent do
    local lines, cut = framing.new(), {}
    for _, piece in ipairs({ sent:sub(1, first), sent:sub(first + 1, second), sent:sub(second + 1) }) do
      vim.list_extend(cut, lines:push(piece))
    end
    assert(vim.deep_equal(cut, wanted), ("cut at %d and %d"):format(first, second))
  end
end

local lines = framing.new()
assert(#lines:push("not ended") == 0, "a line without its end is kept")
assert(lines:push("\n")[1] == "not ended")
