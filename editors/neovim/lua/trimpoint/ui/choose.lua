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

-- ... and then this often.
local REPEATS_MS = 150

local last = { key = "", at = 0, is_held = false }
-- The key that closed a list. As long as it is held, it does nothing else.
local closing ---@type string?

vim.on_key(function(_, typed)
  if not typed or typed == "" then
    return nil
  end
  local now, before = M.now(), last
  local is_held = typed == before.key and now - before.at < REPEATED_MS
  last = { key = typed, at = now, is_held = is_held }
  if closing == typed and now - before.at < (before.is_held and REPEATS_MS or REPEATED_MS) then
    return ""
  end
  closing = nil
end, vim.api.nvim_create_namespace("trimpoint.choose"))

--- In a task: returns what was chosen, nil if nothing was. A picker that fails is as one that was
--- closed.
---@param items any[]
---@param options table those of `vim.ui.select`
---@return any chosen, string? problem
function M.from(items, options)
  return task.await(function(resume)
    local is_shown, problem = pcall(vim.ui.select, items, options, function(chosen)
      closing = M.now() - last.at < REPEATS_MS and last.key or nil
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
