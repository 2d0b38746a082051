--- One connection to the daemon's Unix socket.
local task = require("trimpoint.task")

local M = {}

---@class trimpoint.Connection
---@field private _pipe uv.uv_pipe_t
local Connection = {}
Connection.__index = Connection

--- In a task: connects. `on_bytes` and `on_close` are called on the main loop.
---@param path string
---@param on_bytes fun(bytes: string)
---@param on_close fun()
---@return trimpoint.Connection? connection, string? problem
function M.open(path, on_bytes, on_close)
  local pipe = assert(vim.uv.new_pipe(false))
  local problem = task.await(function(resume)
    local is_begun, reason = pcall(pipe.connect, pipe, path, resume)
    if not is_begun then
      resume(tostring(reason))
    end
  end)
  if problem then
    pipe:close()
    return nil, problem
  end
  local self = setmetatable({ _pipe = pipe }, Connection)
  pipe:read_start(function(_, bytes)
    vim.schedule(function()
      if bytes then
        on_bytes(bytes)
      else
        self:close()
        on_close()
      end
    end)
  end)
  return self, nil
end

---@param bytes string
function Connection:write(bytes)
  if not self._pipe:is_closing() then
    self._pipe:write(bytes)
  end
end

function Connection:close()
  if not self._pipe:is_closing() then
    self._pipe:close()
  end
end

return M
