--- The rows of a history: each kind of entry as lines with marks and folds. Pure.
local activities = require("trimpoint.model.activities")
local questions = require("trimpoint.model.questions")
local text = require("trimpoint.model.text")

local M = {}

---@class trimpoint.Mark
---@field row integer from 0, within the block
---@field options table those of nvim_buf_set_extmark; `end_col` -1 is the end of the line
---@field col integer

---@class trimpoint.Block
---@field key string
---@field stamp string what tells the states of one block apart
---@field lines string[]
---@field marks trimpoint.Mark[]
---@field folded table<integer, boolean> rows that a fold of their own hides
---@field trimmed boolean no longer in the agent's context
---@field markdown? { first: integer, last: integer } rows, from 0
---@field turn_id? string
---@field act? string what <CR> does here: older | answer | again | thread | queued
---@field thread_id? string of another thread, which <CR> opens
---@field prompt_id? string of a prompt that waits
---@field fold_words? string
---@field places? trimpoint.Place[] where the lines from `first_place` on are in the files
---@field first_place? integer row

---@param row integer
---@param group string
---@return trimpoint.Mark
function M.whole(row, group)
  return { row = row, col = 0, options = { end_col = -1, hl_group = group } }
end

---@param row integer
---@param words string
---@param group string
---@return trimpoint.Mark
local function at_right(row, words, group)
  return {
    row = row,
    col = 0,
    options = { virt_text = { { words .. " ", group } }, virt_text_pos = "right_align" },
  }
end

--- Behind a line, where it covers none of it however narrow the window is.
---@param row integer
---@param words string
---@param group string
---@return trimpoint.Mark
function M.behind(row, words, group)
  return {
    row = row,
    col = 0,
    options = { virt_text = { { " " .. words, group } }, virt_text_pos = "eol" },
  }
end

---@param block table
---@return trimpoint.Block
function M.finished(block)
  block.marks = block.marks or {}
  block.folded = block.folded or {}
  block.trimmed = block.trimmed or false
  for row = 0, block.trimmed and #block.lines - 1 or -1 do
    block.marks[#block.marks + 1] = {
      row = row,
      col = 0,
      options = { end_col = -1, hl_group = "TrimpointPruned", priority = 5000 },
    }
  end
  return block
end

---@param entry table
---@param number integer?
---@return trimpoint.Block
function M.prompt(entry, number)
  local lines, marks = { "" }, {}
  for index, line in ipairs(text.lines(entry.text)) do
    lines[#lines + 1] = (index == 1 and "❯ " or "  ") .. line
    marks[#marks + 1] = M.whole(index, "TrimpointPrompt")
  end
  if number then
    local words = ("turn %d"):format(number)
    -- It covers neither the prompt nor the words of a fold, which begins with the empty line.
    local place = entry.trimmed and M.behind(1, words, "TrimpointQuiet")
      or at_right(0, words, "TrimpointQuiet")
    marks[#marks + 1] = place
  end
  return M.finished({ lines = lines, marks = marks, trimmed = entry.trimmed })
end

---@param entry table
---@return trimpoint.Block
function M.answer(entry)
  local lines = vim.list_extend({ "" }, text.lines(entry.text))
  return M.finished({
    lines = lines,
    trimmed = entry.trimmed,
    markdown = { first = 1, last = #lines - 1 },
  })
end

---@param line string
---@return string
local function diff_group(line)
  local sign = line:sub(1, 1)
  return sign == "+" and "TrimpointAdded" or sign == "-" and "TrimpointRemoved" or "TrimpointOutput"
end

---@param entry table
---@param is_first boolean no activity stands right above it
---@return trimpoint.Block
function M.activity(entry, is_first)
  local shown = activities.shown(entry)
  local row = is_first and 1 or 0
  local lines = is_first and { "" } or {}
  lines[#lines + 1] = ("%s %s"):format(shown.sign, shown.title)
  local marks = { M.whole(row, "TrimpointActivity") }
  if shown.outcome ~= "" then
    marks[#marks + 1] =
      M.behind(row, shown.outcome, shown.is_bad and "TrimpointWarning" or "TrimpointQuiet")
  end
  local folded = {}
  for _, line in ipairs(shown.body) do
    lines[#lines + 1] = "  │ " .. line
    marks[#marks + 1] = M.whole(#lines - 1, shown.is_diff and diff_group(line) or "TrimpointOutput")
    folded[#lines - 1] = true
  end
  local words = ("  │ %s"):format(text.counted(#shown.body, "line"))
  return M.finished({
    lines = lines,
    marks = marks,
    folded = folded,
    trimmed = entry.trimmed,
    fold_words = words,
    places = shown.is_diff and activities.places(text.object(entry.detail)) or nil,
    first_place = row,
  })
end

---@param entry table
---@return trimpoint.Block
function M.banner(entry)
  local lines, marks, folded =
    { "", "▎ " .. text.one_line(entry.header, 80) }, { M.whole(1, "TrimpointDivider") }, {}
  for _, line in ipairs(text.lines(entry.summary)) do
    lines[#lines + 1] = "▎ " .. line
    marks[#marks + 1] = M.whole(#lines - 1, "TrimpointSummary")
    folded[#lines - 1] = true
  end
  local words = "▎ " .. text.one_line(entry.summary, 200)
  return M.finished({ lines = lines, marks = marks, folded = folded, fold_words = words })
end

--- Returns the words of a divider.
---@param entry table
---@return string
function M.divider_words(entry)
  local label = text.one_line(entry.label, 60)
  local count = text.thousands(entry.hiddenMessageCount)
  if entry.trimKind == "discard" then
    local masked, parts = entry.maskedCount or 0, {}
    if entry.hiddenMessageCount > 0 or masked == 0 then
      table.insert(parts, count .. " taken out")
    end
    if masked > 0 then
      table.insert(parts, text.thousands(masked) .. " masked")
    end
    return ("%s · %s above"):format(label, table.concat(parts, ", "))
  end
  local pinned = (entry.pinnedCount or 0) > 0 and (", %d pinned"):format(entry.pinnedCount) or ""
  return ("%s · %s pruned%s"):format(label, count, pinned)
end

--- An empty line with a rule over it: no line of the text, and in no fold.
---@param entry table
---@return trimpoint.Block
function M.divider(entry)
  local group = entry.trimKind == "discard" and "TrimpointQuiet" or "TrimpointDivider"
  local rule = ("── %s %s"):format(M.divider_words(entry), ("─"):rep(300))
  local options = { virt_text = { { rule, group } }, virt_text_pos = "overlay" }
  return M.finished({ lines = { "" }, marks = { { row = 0, col = 0, options = options } } })
end

--- Returns how a turn ended that did not end well.
---@param turn trimpoint.Turn
---@return string
function M.end_words(turn)
  if turn.status == "interrupted" then
    return "■ The turn was interrupted."
  end
  local why = turn.error and ": " .. text.one_line(text.words_of_error(turn.error), 500)
  return "✗ The turn failed" .. (why or ".")
end

---@param words string
---@param act? string
---@param trimmed boolean?
---@return trimpoint.Block
function M.turn_end(words, act, trimmed)
  local lines, marks = { "", words }, { M.whole(1, "TrimpointWarning") }
  if act then
    lines[#lines + 1] = "  <CR> here sends the prompt again"
    marks[#marks + 1] = M.whole(#lines - 1, "TrimpointQuiet")
  end
  return M.finished({ lines = lines, marks = marks, trimmed = trimmed, act = act })
end

---@param question trimpoint.Question
---@return trimpoint.Block
function M.question(question)
  local lines, marks =
    { "", "? " .. questions.title(question) }, { M.whole(1, "TrimpointQuestion") }
  for _, line in ipairs(questions.subject(question)) do
    lines[#lines + 1] = "  " .. line
    marks[#marks + 1] = M.whole(
      #lines - 1,
      diff_group(line) ~= "TrimpointOutput" and diff_group(line) or "TrimpointPrompt"
    )
  end
  lines[#lines + 1] = "  <CR> here, <Tab> in the prompt, or :Trimpoint answer"
  marks[#marks + 1] = M.whole(#lines - 1, "TrimpointQuiet")
  return M.finished({ lines = lines, marks = marks, act = "answer" })
end

--- A prompt that waits in the daemon.
---@param words string
---@return trimpoint.Block
function M.queued(words)
  local line = "… waits: " .. text.one_line(words, 200)
  return M.finished({ lines = { line }, marks = { M.whole(0, "TrimpointQuiet") }, act = "queued" })
end

--- Returns the block that `make` makes: what cannot be shown costs its own row and no other.
---@param make fun(): trimpoint.Block
---@return trimpoint.Block
function M.made(make)
  local is_made, block = pcall(make)
  if is_made then
    return block
  end
  local words = "✗ This cannot be shown: " .. text.one_line(block, 200)
  return M.finished({ lines = { "", words }, marks = { M.whole(1, "TrimpointWarning") } })
end

return M
