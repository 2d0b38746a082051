--- A thread as the lines of a buffer: a list of blocks, each with its lines, marks and folds. Pure.
---
--- A block is made once for each state of what it shows, so that a redraw costs what has changed.
local activities = require("trimpoint.model.activities")
local live = require("trimpoint.model.live")
local questions = require("trimpoint.model.questions")
local text = require("trimpoint.model.text")
local threads = require("trimpoint.model.thread")

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
---@field act? string what <CR> does here: older | answer | new-thread
---@field fold_words? string

---@class trimpoint.Scene
---@field thread? trimpoint.Thread
---@field live trimpoint.Live
---@field questions trimpoint.Question[]
---@field notices { words: string, group: string }[] at the end
---@field hint string[] for a thread without a word yet

---@param row integer
---@param group string
---@return trimpoint.Mark
local function whole(row, group)
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

---@param block table
---@return trimpoint.Block
local function finished(block)
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
local function prompt_block(entry, number)
  local lines, marks = { "" }, {}
  for index, line in ipairs(text.lines(entry.text)) do
    lines[#lines + 1] = (index == 1 and "❯ " or "  ") .. line
    marks[#marks + 1] = whole(index, "TrimpointPrompt")
  end
  marks[#marks + 1] = number and at_right(1, ("turn %d"):format(number), "TrimpointQuiet") or nil
  return finished({ lines = lines, marks = marks, trimmed = entry.trimmed })
end

---@param entry table
---@return trimpoint.Block
local function answer_block(entry)
  local lines = vim.list_extend({ "" }, text.lines(entry.text))
  return finished({
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
local function activity_block(entry, is_first)
  local shown = activities.shown(entry)
  local row = is_first and 1 or 0
  local lines = is_first and { "" } or {}
  lines[#lines + 1] = ("%s %s"):format(shown.sign, shown.title)
  local marks = { whole(row, "TrimpointActivity") }
  if shown.outcome ~= "" then
    marks[#marks + 1] =
      at_right(row, shown.outcome, shown.is_bad and "TrimpointWarning" or "TrimpointQuiet")
  end
  local folded = {}
  for _, line in ipairs(shown.body) do
    lines[#lines + 1] = "  │ " .. line
    marks[#marks + 1] = whole(#lines - 1, shown.is_diff and diff_group(line) or "TrimpointOutput")
    folded[#lines - 1] = true
  end
  local words = ("  │ %s"):format(text.counted(#shown.body, "line"))
  return finished({
    lines = lines,
    marks = marks,
    folded = folded,
    trimmed = entry.trimmed,
    fold_words = words,
  })
end

---@param entry table
---@return trimpoint.Block
local function banner_block(entry)
  local lines, marks, folded =
    { "", "▎ " .. text.one_line(entry.header, 80) }, { whole(1, "TrimpointDivider") }, {}
  for _, line in ipairs(text.lines(entry.summary)) do
    lines[#lines + 1] = "▎ " .. line
    marks[#marks + 1] = whole(#lines - 1, "TrimpointSummary")
    folded[#lines - 1] = true
  end
  local words = "▎ " .. text.one_line(entry.summary, 200)
  return finished({ lines = lines, marks = marks, folded = folded, fold_words = words })
end

--- Returns the words of a divider.
---@param entry table
---@return string
function M.divider_words(entry)
  local label = text.one_line(entry.label, 60)
  local count = text.thousands(entry.hiddenMessageCount)
  if entry.trimKind == "discard" then
    return ("%s · %s taken out above"):format(label, count)
  end
  local pinned = (entry.pinnedCount or 0) > 0 and (", %d pinned"):format(entry.pinnedCount) or ""
  return ("%s · %s pruned%s"):format(label, count, pinned)
end

--- An empty line with a rule over it: no line of the text, and in no fold.
---@param entry table
---@return trimpoint.Block
local function divider_block(entry)
  local group = entry.trimKind == "discard" and "TrimpointQuiet" or "TrimpointDivider"
  local rule = ("── %s %s"):format(M.divider_words(entry), ("─"):rep(300))
  local options = { virt_text = { { rule, group } }, virt_text_pos = "overlay" }
  return finished({ lines = { "" }, marks = { { row = 0, col = 0, options = options } } })
end

---@class trimpoint.Builder
---@field private _old table<string, trimpoint.Block> what was made for this part the last time
---@field private _next table<string, trimpoint.Block>
---@field private _blocks trimpoint.Block[]
---@field private _last_kind string
---@field private _history trimpoint.History
---@field private _tail table<string, trimpoint.Block>
local Builder = {}
Builder.__index = Builder

---@class trimpoint.History what the thread itself is made into; it is kept until the thread changes
---@field thread? trimpoint.Thread
---@field revision integer
---@field by_key table<string, trimpoint.Block>
---@field blocks trimpoint.Block[]
---@field last_kind string

--- Returns what makes the blocks of one buffer, again and again.
---@return trimpoint.Builder
function M.builder()
  local history = { revision = -1, by_key = {}, blocks = {}, last_kind = "" }
  return setmetatable({ _history = history, _tail = {} }, Builder)
end

---@private
---@param key string
---@param stamp string
---@param make fun(): trimpoint.Block
---@return trimpoint.Block
function Builder:_add(key, stamp, make)
  local block = self._old[key]
  if not block or block.stamp ~= stamp then
    block = make()
    block.key, block.stamp = key, stamp
  end
  self._next[key] = block
  self._blocks[#self._blocks + 1] = block
  return block
end

---@private
---@param scene trimpoint.Scene
function Builder:_header(scene)
  local thread = scene.thread
  local title = thread and text.one_line(thread.name or "", 60) or ""
  local lines = { "trimpoint" .. (title ~= "" and " · " .. title or "") }
  local where = thread and vim.fn.fnamemodify(text.one_line(thread.cwd, 200), ":~") or nil
  self:_add("header", lines[1] .. (where or ""), function()
    local marks = { whole(0, "TrimpointTitle") }
    marks[#marks + 1] = where and at_right(0, where, "TrimpointQuiet") or nil
    return finished({ lines = lines, marks = marks })
  end)
  if thread and thread.cursor then
    self:_add("older", "", function()
      local words = "↑ Older entries: <CR> here loads them"
      return finished({ lines = { words }, marks = { whole(0, "TrimpointQuiet") }, act = "older" })
    end)
  end
end

---@private
---@param thread trimpoint.Thread
---@param entry table
---@param size integer
function Builder:_entry(thread, entry, size)
  if entry.kind == "contextTrimPointDivider" then
    self:_add(threads.key(entry), M.divider_words(entry), function()
      return divider_block(entry)
    end)
    self._last_kind = entry.kind
    return
  end
  local turn = thread.turns[entry.turnId]
  local number = turn and turn.number
  local is_first = self._last_kind ~= "activity"
  local stamp = ("%s %s %s %d %s"):format(entry.trimmed, is_first, number, size, entry.is_live)
  local block = self:_add(threads.key(entry), stamp, function()
    if entry.kind == "contextSummaryBanner" then
      return banner_block(entry)
    elseif entry.kind == "activity" then
      return activity_block(entry, is_first)
    elseif entry.role == "user" then
      return prompt_block(entry, number)
    end
    return answer_block(entry)
  end)
  block.turn_id = entry.turnId
  self._last_kind = entry.kind
end

---@private
---@param thread trimpoint.Thread
---@param turn_id string?
---@param trimmed boolean?
function Builder:_turn_end(thread, turn_id, trimmed)
  local turn = turn_id and thread.turns[turn_id]
  if not turn or (turn.status ~= "failed" and turn.status ~= "interrupted") then
    return
  end
  local reason = turn.error and ": " .. text.one_line(turn.error, 500) or "."
  local words = turn.status == "failed" and "✗ The turn failed" .. reason
    or "■ The turn was interrupted."
  self:_add("end " .. turn_id, words .. tostring(trimmed), function()
    return finished({
      lines = { "", words },
      marks = { whole(1, "TrimpointWarning") },
      trimmed = trimmed,
    })
  end)
  self._last_kind = "end"
end

---@private
---@param thread trimpoint.Thread
function Builder:_entries(thread)
  local turn_id, trimmed
  for _, entry in ipairs(thread.entries) do
    if entry.turnId ~= turn_id then
      self:_turn_end(thread, turn_id, trimmed)
    end
    turn_id, trimmed = entry.turnId, entry.trimmed
    self:_entry(thread, entry, 0)
  end
  self:_turn_end(thread, turn_id, trimmed)
end

---@private
---@param question trimpoint.Question
function Builder:_question(question)
  self:_add("question " .. tostring(question.id), tostring(question.item ~= nil), function()
    local lines, marks =
      { "", "? " .. questions.title(question) }, { whole(1, "TrimpointQuestion") }
    for _, line in ipairs(questions.subject(question)) do
      lines[#lines + 1] = "  " .. line
      marks[#marks + 1] = whole(
        #lines - 1,
        diff_group(line) ~= "TrimpointOutput" and diff_group(line) or "TrimpointPrompt"
      )
    end
    lines[#lines + 1] = "  <CR> here, <Tab> in the prompt, or :Trimpoint answer"
    marks[#marks + 1] = whole(#lines - 1, "TrimpointQuiet")
    return finished({ lines = lines, marks = marks, act = "answer" })
  end)
end

---@private
---@param scene trimpoint.Scene
function Builder:_footer(scene)
  local lines, marks = { "" }, {}
  for _, notice in ipairs(scene.notices) do
    for _, line in ipairs(text.lines(notice.words)) do
      lines[#lines + 1] = line
      marks[#marks + 1] = whole(#lines - 1, notice.group)
    end
  end
  local act = scene.thread and scene.thread.new_thread_id and "new-thread" or nil
  self:_add("footer", table.concat(lines, "\n"), function()
    return finished({ lines = lines, marks = marks, act = act })
  end)
end

---@private
---@param hint string[]
function Builder:_hint(hint)
  self:_add("hint", table.concat(hint, "\n"), function()
    local lines, marks = { "" }, {}
    for _, line in ipairs(hint) do
      lines[#lines + 1] = line
      marks[#marks + 1] = whole(#lines - 1, "TrimpointQuiet")
    end
    return finished({ lines = lines, marks = marks })
  end)
end

---@private
---@param scene trimpoint.Scene
function Builder:_make_history(scene)
  local thread, known = scene.thread, self._history
  local revision = thread and thread.revision or 0
  if known.thread == thread and known.revision == revision then
    return
  end
  self._old, self._next, self._blocks, self._last_kind = known.by_key, {}, {}, ""
  self:_header(scene)
  if thread then
    self:_entries(thread)
  end
  self._history = {
    thread = thread,
    revision = revision,
    by_key = self._next,
    blocks = self._blocks,
    last_kind = self._last_kind,
  }
end

---@private
---@param scene trimpoint.Scene
function Builder:_make_tail(scene)
  local thread = scene.thread
  for _, item in ipairs(thread and scene.live.items or {}) do
    if not self._history.by_key[("%s %s"):format(item.turnId, item.id)] then
      self:_entry(thread --[[@as trimpoint.Thread]], live.entry(item), #item.parts + #item.output)
    end
  end
  if (not thread or #thread.entries == 0) and #scene.live.items == 0 then
    self:_hint(scene.hint)
  end
  for _, question in ipairs(scene.questions) do
    self:_question(question)
  end
  self:_footer(scene)
end

--- Returns the blocks of a scene, in order.
---@param scene trimpoint.Scene
---@return trimpoint.Block[]
function Builder:build(scene)
  self:_make_history(scene)
  self._old, self._next, self._last_kind = self._tail, {}, self._history.last_kind
  self._blocks = vim.list_extend({}, self._history.blocks)
  self:_make_tail(scene)
  self._tail = self._next
  return self._blocks
end

return M
