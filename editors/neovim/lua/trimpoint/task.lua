--- Code that waits without blocking the editor: a coroutine that is resumed on the main loop.
local M = {}

--- Runs `body` in a coroutine. A fault in it is shown as an error of the editor, with its
--- traceback.
---@param body fun()
function M.run(body)
  local thread = coroutine.create(body)
  local function step(...)
    local is_fine, start = coroutine.resume(thread, ...)
    if not is_fine then
      error(debug.traceback(thread, tostring(start)), 0)
    end
    if coroutine.status(thread) == "dead" then
      return
    end
    local is_over = false
    start(function(...)
      if is_over then
        return
      end
      is_over = true
      local count, values = select("#", ...), { ... }
      vim.schedule(function()
        step(unpack(values, 1, count))
      end)
    end)
  end
  step()
end

--- In a task: calls `start` with a function, and returns what that function is called with.
---@param start fun(resume: fun(...))
---@return any ...
function M.await(start)
  return coroutine.yield(start)
end

--- In a task: waits so many milliseconds.
---@param milliseconds integer
function M.sleep(milliseconds)
  M.await(function(resume)
    vim.defer_fn(resume, milliseconds)
  end)
end

--- In a task: runs a program to its end.
---@param command string[]
---@param options table? those of `vim.system`
---@return { code: integer, stdout: string, stderr: string }
function M.system(command, options)
  return M.await(function(resume)
    local is_started, problem = pcall(vim.system, command, options or { text = true }, resume)
    if not is_started then
      resume({ code = -1, stdout = "", stderr = tostring(problem) })
    end
  end)
end

return M
