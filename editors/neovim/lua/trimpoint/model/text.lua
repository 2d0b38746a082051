--- Text of others, safe to show: what a model or a tool writes may hold anything. Pure.
local M = {}

local VISIBLE = "\239\191\189"
-- Direction overrides and isolates, and marks that are not seen: in UTF-8 by their bytes.
local HIDDEN = {
  "\194[\128-\159]", -- C1 controls
  "\216\156", -- Arabic letter mark
  "\226\128[\139-\143]", -- zero width, direction marks
  "\226\128[\168-\174]", -- line and paragraph separators, direction overrides
  "\226\129[\160-\175]", -- word joiner, isolates
  "\239\187\191", -- byte order mark
}

--- Returns `text` with control characters and direction overrides made visible; lines and tabs
--- stay.
---@param text any
---@return string
function M.printable(text)
  local shown = (type(text) == "string" and text or tostring(text)):gsub("\r\n", "\n")
  shown = shown:gsub("\27%[[%d;]*m", ""):gsub("[%z\1-\8\11-\31\127]", VISIBLE)
  if shown:find("[\194\216\226\239]") then
    for _, pattern in ipairs(HIDDEN) do
      -- A joiner within an emoji is no danger, and taking it out would tear the emoji.
      shown = shown:gsub(pattern, function(found)
        return found == "\226\128\141" and found or VISIBLE
      end)
    end
  end
  return shown
end

--- Returns the lines of `text`, without empty ones at its end.
---@param text any
---@return string[]
function M.lines(text)
  local shown = M.printable(text):gsub("%s+$", "")
  return vim.split(shown, "\n", { plain = true })
end

local MOST_EMPTY_LINES = 3

---@param line string
---@return string
local function without_gaps(line)
  return (
    line:gsub("()([ \t]+)", function(at, run)
      -- Indentation is long in real files; blanks behind a word are not.
      local most = at == 1 and 60 or 16
      return #run > most and (" ⟨%s⟩ "):format(M.counted(#run, "blank")) or nil
    end)
  )
end

--- Returns all lines of `text` so that nothing can be overlooked: a long run of blanks or of empty
--- lines, which would move the rest out of sight, is replaced by its length.
---@param text any
---@return string[]
function M.whole_lines(text)
  local lines, empty = {}, 0
  local function end_gap()
    if empty > MOST_EMPTY_LINES then
      lines[#lines + 1] = ("⟨%s⟩"):format(M.counted(empty, "empty line"))
    else
      for _ = 1, empty do
        lines[#lines + 1] = ""
      end
    end
    empty = 0
  end
  for _, line in ipairs(M.lines(text)) do
    if line:find("%S") then
      end_gap()
      lines[#lines + 1] = without_gaps(line)
    else
      empty = empty + 1
    end
  end
  return lines
end

--- Returns `text` as one line of at most `limit` characters.
---@param text any
---@param limit integer
---@return string
function M.one_line(text, limit)
  local line = vim.trim((M.printable(text):gsub("%s+", " ")))
  if vim.fn.strchars(line) <= limit then
    return line
  end
  return vim.fn.strcharpart(line, 0, limit - 1) .. "…"
end

--- Returns `text` for a statusline or winbar, where `%` begins an instruction.
---@param text string
---@return string
function M.for_statusline(text)
  return (text:gsub("%%", "%%%%"))
end

--- Returns a number with its thousands parted.
---@param number number
---@return string
function M.thousands(number)
  local digits = ("%d"):format(number)
  local head = #digits % 3
  local parts = head > 0 and { digits:sub(1, head) } or {}
  for at = head + 1, #digits, 3 do
    parts[#parts + 1] = digits:sub(at, at + 2)
  end
  return table.concat(parts, ",")
end

--- Returns a count with its noun.
---@param count integer
---@param noun string
---@return string
function M.counted(count, noun)
  return ("%s %s%s"):format(M.thousands(count), noun, count == 1 and "" or "s")
end

return M
