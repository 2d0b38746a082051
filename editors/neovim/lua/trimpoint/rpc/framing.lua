--- Cuts bytes into lines: one JSON object a line, at the byte `\n` and nowhere else. Pure.
local M = {}

---@class trimpoint.Lines
---@field private _parts string[] of the line that has not ended yet
local Lines = {}
Lines.__index = Lines

--- Returns what cuts one stream of bytes.
---@return trimpoint.Lines
function M.new()
  return setmetatable({ _parts = {} }, Lines)
end

--- Takes the next bytes and returns the lines that they end. The parts of an unfinished line are
--- joined once, so that a line of many megabytes costs no more than its length.
---@param bytes string
---@return string[]
function Lines:push(bytes)
  local lines, start = {}, 1
  while true do
    local at = bytes:find("\n", start, true)
    if not at then
      break
    end
    self._parts[#self._parts + 1] = bytes:sub(start, at - 1)
    lines[#lines + 1] = table.concat(self._parts)
    self._parts = {}
    start = at + 1
  end
  if start <= #bytes then
    self._parts[#self._parts + 1] = bytes:sub(start)
  end
  return lines
end

return M
