--- Text that is sent must be UTF-8: the daemon takes nothing else, and a buffer can hold anything.
--- Pure.
local M = {}

local REPLACEMENT = "\239\191\189"

--- The continuation bytes that a lead byte needs, and the range of the first of them: it leaves out
--- overlong forms, surrogates, and what is beyond Unicode.
---@param lead integer
---@return integer count, integer lowest, integer highest
local function follows(lead)
  if lead < 0x80 then
    return 0, 0, 0
  elseif lead >= 0xC2 and lead <= 0xDF then
    return 1, 0x80, 0xBF
  elseif lead >= 0xE0 and lead <= 0xEF then
    return 2, lead == 0xE0 and 0xA0 or 0x80, lead == 0xED and 0x9F or 0xBF
  elseif lead >= 0xF0 and lead <= 0xF4 then
    return 3, lead == 0xF0 and 0x90 or 0x80, lead == 0xF4 and 0x8F or 0xBF
  end
  return -1, 0, 0
end

---@param text string
---@param at integer
---@return integer length of the character at `at`, 0 where there is none
local function character(text, at)
  local count, lowest, highest = follows(text:byte(at))
  if count < 0 then
    return 0
  end
  for offset = 1, count do
    local byte = text:byte(at + offset)
    local low = offset == 1 and lowest or 0x80
    local high = offset == 1 and highest or 0xBF
    if byte == nil or byte < low or byte > high then
      return 0
    end
  end
  return count + 1
end

--- Returns `text` with each byte that is no UTF-8 replaced.
---@param text string
---@return string
function M.repaired(text)
  local start = text:find("[\128-\255]")
  if not start then
    return text
  end
  local parts, at, clean = {}, start, 1
  while at <= #text do
    local length = character(text, at)
    if length == 0 then
      parts[#parts + 1] = text:sub(clean, at - 1)
      parts[#parts + 1] = REPLACEMENT
      clean = at + 1
    end
    at = at + math.max(length, 1)
  end
  if clean == 1 then
    return text
  end
  parts[#parts + 1] = text:sub(clean)
  return table.concat(parts)
end

return M
