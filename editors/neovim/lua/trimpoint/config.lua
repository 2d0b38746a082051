--- What a person may set, checked. Everything has a default: nothing needs to be set.
local M = {}

---@class trimpoint.Config
---@field program string the trimpoint program
---@field socket? string where the daemon listens, if `trimpoint config socket` does not say it
---@field layout "right"|"left"|"below"|"tab"|"current" where a chat opens
---@field width integer columns of a chat at the right or left
---@field height integer lines of a chat below
---@field prompt_height integer
---@field page integer entries of history that are loaded at once
---@field notify boolean say what happens in threads that are out of sight
---@field complete_slash boolean open the menu of commands when `/` is typed in an empty prompt
M.defaults = {
  program = "trimpoint",
  socket = nil,
  layout = "right",
  width = 84,
  height = 24,
  prompt_height = 5,
  page = 200,
  notify = true,
  complete_slash = true,
}

local LAYOUTS = { right = true, left = true, below = true, tab = true, current = true }
local OPTIONAL = { socket = "string" }

---@type trimpoint.Config?
local current

---@param name string
---@param value any
---@return string? problem
local function problem_with(name, value)
  local wanted = OPTIONAL[name] or type(M.defaults[name])
  if M.defaults[name] == nil and not OPTIONAL[name] then
    return ("there is no setting %q; :help trimpoint-settings lists them"):format(name)
  end
  if type(value) ~= wanted then
    return ("%s must be a %s, not a %s"):format(name, wanted, type(value))
  end
  if name == "layout" and not LAYOUTS[value] then
    return ("layout is right, left, below, tab or current, not %q"):format(value)
  end
  return nil
end

--- Returns what is wrong with settings, one sentence each.
---@param settings table
---@return string[]
function M.problems(settings)
  local found = {}
  for name, value in pairs(settings) do
    found[#found + 1] = problem_with(tostring(name), value)
  end
  table.sort(found)
  return found
end

--- Takes settings; what is wrong is left out and reported.
---@param settings table?
---@return string[] problems
function M.set(settings)
  local merged = vim.deepcopy(M.defaults)
  for name, value in pairs(settings or {}) do
    if problem_with(tostring(name), value) == nil then
      merged[name] = value
    end
  end
  current = merged
  return M.problems(settings or {})
end

--- Returns the settings in force: those of `setup()`, else of `vim.g.trimpoint`.
---@return trimpoint.Config
function M.get()
  if current == nil then
    M.set(type(vim.g.trimpoint) == "table" and vim.g.trimpoint or {})
  end
  return current --[[@as trimpoint.Config]]
end

return M
