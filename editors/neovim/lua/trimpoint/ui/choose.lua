--- Lets a person choose from a list. What allows something has to be chosen on purpose: a choice
--- that comes as soon as the list is there, or by a key that is held down, is none.
local task = require("trimpoint.task")

local M = {}

local SETTLED_MS = 500
-- A held key comes again within this time: keyboards wait up to 660 ms before the first repeat.
local REPEATED_MS = 700

--- Returns the time in milliseconds.
---@return number
function M.now()
  return vim.uv.hrtime() / 1e6
end

local last = { key = "", at = 0, is_held = false }

vim.on_key(function(_, typed)
  if typed and typed ~= "" then
    local now = M.now()
    last = { key = typed, at = now, is_held = typed == last.key and now - last.at < REPEATED_MS }
  end
end, vim.api.nvim_create_namespace("trimpoint.choose"))

--- In a task: returns what was chosen, nil if nothing was. A picker that fails is as one that was
--- closed.
---@param items any[]
---@param options table those of `vim.ui.select`
---@return any chosen, string? problem
function M.from(items, options)
  return task.await(function(resume)
    local is_shown, problem = pcall(vim.ui.select, items, options, function(chosen)
      resume(chosen, nil)
    end)
    if not is_shown then
      resume(nil, tostring(problem))
    end
  end)
end

--- In a task: as `from`, for what needs to be chosen on purpose.
---@param items any[]
---@param options table those of `vim.ui.select`
---@return any chosen, string? problem
function M.deliberately(items, options)
  local since = M.now()
  local chosen, problem = M.from(items, options)
  if chosen ~= nil and (M.now() - since < SETTLED_MS or last.is_held) then
    return nil, "That was too soon after it appeared: nothing was answered."
  end
  return chosen, problem
end

return M
