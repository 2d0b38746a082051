--- Text of others, safe to show: what a model or a tool writes may hold anything. Pure.
local M = {}

local VISIBLE = "\239\191\189"
-- Direction overrides and isolates, and marks that are not seen: in UTF-8 by their bytes. The same
-- characters as in `hidden_characters.py` of the protocol, which a test proves.
local MISLEADING = {
  "\194[\128-\159]", -- C1 controls
  "\216\156", -- Arabic letter mark
  "\226\128[\139\142\143]", -- zero width, direction marks
  "\226\128[\168-\174]", -- line and paragraph separators, direction overrides
  "\226\129[\160-\175]", -- word joiner, isolates
  "\239\187\191", -- byte order mark
  "\239\191[\185-\187]", -- annotations
  "\243\160[\128\129][\128-\191]", -- tags
}
-- Joiners, selectors, fillers and blanks, which scripts and emoji need.
local UNUSUAL = {
  "\194[\160\173]",
  "\205\143",
  "\225\133[\159\160]",
  "\225\154\128",
  "\225\158[\180\181]",
  "\225\160[\139-\143]",
  "\226\128[\128-\138\140\141\175]",
  "\226\129\159",
  "\227\128\128",
  "\227\133\164",
  "\239\184[\128-\142]",
  "\239\190\160",
  "\243\160[\132-\134][\128-\191]",
  "\243\160\135[\128-\175]",
}

---@param text string
---@param patterns string[]
---@return string
local function without(text, patterns)
  if text:find("[\194-\243]") then
    for _, pattern in ipairs(patterns) do
      text = text:gsub(pattern, VISIBLE)
    end
  end
  return text
end

--- Returns `text` with control characters and direction overrides made visible; lines and tabs
--- stay.
---@param text any
---@return string
function M.printable(text)
  local given = type(text) == "table" and M.json(text) or tostring(text)
  local shown = given:gsub("\r\n", "\n")
  shown = shown:gsub("\27%[[%d;]*m", ""):gsub("[%z\1-\8\11-\31\127]", VISIBLE)
  return without(shown, MISLEADING)
end

--- Returns `text` for a person who is to approve it: joiners, selectors and unusual blanks are made
--- visible, too.
---@param text any
---@return string
function M.whole(text)
  return without(M.printable(text), UNUSUAL)
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
  for _, line in ipairs(M.lines(M.whole(text))) do
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

--- Returns `value` if it is a list, else an empty one: of what others send no shape is certain.
---@param value any
---@return any[]
function M.list(value)
  return type(value) == "table" and vim.islist(value) and value or {}
end

--- Returns `value` if it is a table, else an empty one.
---@param value any
---@return table
function M.object(value)
  return type(value) == "table" and value or {}
end

--- Returns `value` if it is a text, else an empty one.
---@param value any
---@return string
function M.string(value)
  return type(value) == "string" and value or ""
end

--- Returns `value` as JSON, or that it is none.
---@param value any
---@return string
function M.json(value)
  local is_json, encoded = pcall(vim.json.encode, value)
  return is_json and encoded or "(no JSON)"
end

--- Returns what an error says to a person: Codex passes on the JSON that a provider answered with.
--- A message without such JSON is returned as it is.
---@param message string
---@return string
function M.words_of_error(message)
  local before, encoded = message:match("^(.-)(%b{})")
  local is_json, answer = pcall(vim.json.decode, encoded or "")
  if not is_json or type(answer) ~= "table" then
    return message
  end
  local inner = answer.error
  local said = type(inner) == "string" and inner or M.object(inner).message or answer.message
  said = vim.trim(M.string(said))
  before = vim.trim(before):gsub("[:,]+$", "")
  return said == "" and message or before == "" and said or ("%s: %s"):format(before, said)
end

--- Returns a count with its noun.
---@param count integer
---@param noun string
---@return string
function M.counted(count, noun)
  return ("%s %s%s"):format(M.thousands(count), noun, count == 1 and "" or "s")
end

return M
