--- What can be done with turns to make room in the agent's context. Pure.
local M = {}

local KINDS = {
  { name = "clear", verb = "Clear", meaning = "the agent forgets" },
  { name = "compact", verb = "Compact", meaning = "a summary for" },
  { name = "mask", verb = "Mask", meaning = "one line for each output of" },
}

---@class trimpoint.Act
---@field typed string the command
---@field words string

---@param first integer
---@param last integer
---@return string
local function named(first, last)
  return first == last and ("turn %d"):format(first) or ("turns %d to %d"):format(first, last)
end

--- Returns what can be done with the turns from `first` to `last` and, if that is one turn, with
--- all up to it and with all from it on.
---@param first integer
---@param last integer
---@param newest integer the number of the newest turn
---@return trimpoint.Act[]
function M.acts(first, last, newest)
  local stretches = { { ("%d..%d"):format(first, last), named(first, last), "" } }
  if first == last and first > 1 then
    stretches[#stretches + 1] = { (".." .. last), named(1, last), ", up to here" }
  end
  if first == last and last < newest then
    local turns = ("%d..%d"):format(first, newest)
    stretches[#stretches + 1] = { turns, named(first, newest), ", from here on" }
  end
  local acts = {}
  for _, kind in ipairs(KINDS) do
    for _, stretch in ipairs(stretches) do
      acts[#acts + 1] = {
        typed = ("/%s %s"):format(kind.name, stretch[1]),
        words = ("%s %s%s: %s %s"):format(
          kind.verb,
          stretch[2],
          stretch[3],
          kind.meaning,
          stretch[2]
        ),
      }
    end
  end
  return acts
end

return M
