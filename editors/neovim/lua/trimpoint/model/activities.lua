--- What the agent did beside speaking: a line for each, and what can be opened below it. Pure.
local text = require("trimpoint.model.text")

local M = {}

local SIGNS = {
  commandExecution = "$",
  fileChange = "±",
  reasoning = "✻",
  mcpToolCall = "⚒",
  dynamicToolCall = "⚒",
  webSearch = "⌕",
  plan = "☰",
  contextCompaction = "⇲",
}
local MOST_LINES = 2000

--- Returns a command without the shell that Codex wraps around it.
---@param command string
---@return string
function M.typed(command)
  local inner = command:match("^%S*/?%a*sh %-l?c '(.*)'$")
  if inner then
    return (inner:gsub([['"'"']], "'"))
  end
  inner = command:match('^%S*/?%a*sh %-l?c "(.*)"$')
  if inner then
    return (inner:gsub('\\(["\\$`])', "%1"))
  end
  return command:match("^%S*/?%a*sh %-l?c (%S+)$") or command
end

---@param entry table
---@return string[] as it was typed
local function command_lines(entry)
  local command = text.string(text.object(entry.detail).command)
  return text.lines(M.typed(command ~= "" and command or text.string(entry.title)))
end

---@param entry table
---@return string
local function title_of(entry)
  local title, detail = text.string(entry.title), text.object(entry.detail)
  if entry.activity == "contextCompaction" then
    return title ~= "" and text.one_line(title, 200) or "The context is being compacted"
  elseif entry.activity == "commandExecution" then
    local lines = command_lines(entry)
    local more = #lines > 1 and (" … (%s)"):format(text.counted(#lines, "line")) or ""
    return lines[1] .. more
  elseif entry.activity == "fileChange" and #text.list(detail.changes) > 0 then
    local paths = vim.tbl_map(function(change)
      return vim.fn.fnamemodify(text.one_line(text.object(change).path or "?", 300), ":~:.")
    end, detail.changes)
    return table.concat(paths, ", ")
  end
  return text.printable(title):gsub("%*%*", ""):match("%S[^\n]*")
    or text.one_line(entry.activity, 80)
end

local SIGN_OF_KIND = { add = "+", delete = "-" }

--- Returns a change as the lines of a diff, each with its sign: Codex sends a new or deleted file
--- as its bare text.
---@param change table
---@return string[] lines, integer added, integer removed
function M.change_lines(change)
  local kind = type(change.kind) == "table" and change.kind.type or change.kind
  local sign, diff = SIGN_OF_KIND[text.string(kind)] or "", text.string(change.diff)
  local lines = diff ~= "" and vim.split(diff:gsub("\n$", ""), "\n", { plain = true }) or {}
  local signs = { ["+"] = 0, ["-"] = 0 }
  for index, line in ipairs(lines) do
    lines[index] = text.printable(sign .. line):gsub("\n", " ")
    local first = lines[index]:sub(1, 1)
    signs[first] = signs[first] and signs[first] + 1
  end
  return lines, signs["+"], signs["-"]
end

--- Returns the changes of an item: for each file its path with the numbers of lines, and its diff.
---@param detail table
---@return string[]
function M.diff_lines(detail)
  local lines = {}
  for _, change in ipairs(text.list(detail.changes)) do
    change = text.object(change)
    local found, added, removed = M.change_lines(change)
    local moved = type(change.kind) == "table" and change.kind.move_path
    lines[#lines + 1] = ("%s%s  +%d −%d"):format(
      text.one_line(change.path or "?", 2000),
      moved and " → " .. text.one_line(moved, 2000) or "",
      added,
      removed
    )
    vim.list_extend(lines, text.whole_lines(table.concat(found, "\n")))
  end
  return lines
end

---@param lines string[] of a diff
---@return integer[] for each the line of the new file that it is at
local function numbers_of(lines)
  local numbers, at = {}, 1
  for index, line in ipairs(lines) do
    local first = tonumber(line:match("^@@ %-%d+,?%d* %+(%d+)"))
    at = first and math.max(1, first) or at
    numbers[index] = at
    if not first and not line:find("^[-\\]") then
      at = at + 1
    end
  end
  return numbers
end

---@class trimpoint.Place
---@field path string
---@field line integer

--- Returns where each of `diff_lines` is in the files, after where the first change is.
---@param detail table
---@return trimpoint.Place[]
function M.places(detail)
  local places = {}
  for _, change in ipairs(text.list(detail.changes)) do
    change = text.object(change)
    local moved = type(change.kind) == "table" and change.kind.move_path
    local path = text.string(moved or change.path)
    local lines = M.change_lines(change)
    local numbers, first = numbers_of(lines), 1
    for index, line in ipairs(lines) do
      if line:find("^[+-]") then
        first = numbers[index]
        break
      end
    end
    places[#places + 1] = { path = path, line = first }
    for _, number in ipairs(numbers) do
      places[#places + 1] = { path = path, line = number }
    end
  end
  table.insert(places, 1, places[1])
  return places
end

---@param entry table
---@return string[]
local function body_of(entry)
  local detail = text.object(entry.detail)
  if entry.activity == "commandExecution" then
    local output, lines = text.string(detail.aggregatedOutput), command_lines(entry)
    local body = #lines > 1 and lines or {}
    return output ~= "" and vim.list_extend(body, text.lines(output)) or body
  elseif entry.activity == "fileChange" then
    return M.diff_lines(detail)
  elseif entry.activity == "mcpToolCall" or entry.activity == "dynamicToolCall" then
    local shown = { arguments = detail.arguments, result = detail.result, error = detail.error }
    return next(shown) and text.lines(text.json(shown)) or {}
  end
  local lines = text.lines(text.string(entry.title))
  return #lines > 1 and lines or {}
end

--- Returns how it ended, where that is not simply well.
---@param entry table
---@return string
local function outcome_of(entry)
  local detail = text.object(entry.detail)
  local code = detail.exitCode
  if entry.is_live then
    return "…"
  elseif detail.status == "declined" then
    return "declined"
  elseif type(code) == "number" and code ~= 0 then
    return ("exit %s"):format(code)
  end
  return detail.status == "failed" and "failed" or ""
end

---@class trimpoint.Activity
---@field sign string
---@field title string
---@field outcome string
---@field is_bad boolean
---@field body string[]
---@field is_diff boolean

--- Returns an activity as it is shown.
---@param entry table
---@return trimpoint.Activity
function M.shown(entry)
  local body, outcome = body_of(entry), outcome_of(entry)
  if #body > MOST_LINES then
    local left_out = #body - MOST_LINES
    body = vim.list_slice(body, 1, MOST_LINES)
    body[#body + 1] = ("… %s more"):format(text.counted(left_out, "line"))
  end
  return {
    sign = SIGNS[text.string(entry.activity)] or "⚒",
    title = title_of(entry),
    outcome = outcome,
    is_bad = outcome ~= "" and outcome ~= "…",
    body = body,
    is_diff = entry.activity == "fileChange",
  }
end

return M
