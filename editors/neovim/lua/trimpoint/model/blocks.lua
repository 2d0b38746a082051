--- A thread as the lines of a buffer: a list of blocks, each with its lines, marks and folds. Pure.
---
--- A block is made once for each state of what it shows, so that a redraw costs what has changed.
local live = require("trimpoint.model.live")
local rows = require("trimpoint.model.rows")
local text = require("trimpoint.model.text")
local threads = require("trimpoint.model.thread")

local M = {}

---@class trimpoint.Scene
---@field thread? trimpoint.Thread
---@field live trimpoint.Live
---@field questions trimpoint.Question[]
---@field notices { words: string, group: string }[] at the end
---@field hint string[] for a thread without a word yet

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
    block = rows.made(make)
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
    local marks = { rows.whole(0, "TrimpointTitle") }
    marks[#marks + 1] = where and rows.behind(0, where, "TrimpointQuiet") or nil
    return rows.finished({ lines = lines, marks = marks })
  end)
  for _, link in ipairs(thread and thread.links or {}) do
    local named = link.goal or thread and thread.titles[link.id] or "another thread"
    local words = link.words .. text.one_line(named, 60)
    self:_add("link " .. link.id, words, function()
      return rows.finished({
        lines = { words },
        marks = { rows.whole(0, "TrimpointQuiet") },
        act = "thread",
        thread_id = link.id,
      })
    end)
  end
  if thread and thread.cursor then
    self:_add("older", "", function()
      local words = "↑ Older entries: <CR> here loads them"
      return rows.finished({
        lines = { words },
        marks = { rows.whole(0, "TrimpointQuiet") },
        act = "older",
      })
    end)
  end
end

---@private
---@param thread trimpoint.Thread
---@param entry table
---@param size integer
function Builder:_entry(thread, entry, size)
  if entry.kind == "contextTrimPointDivider" then
    self:_add(threads.key(entry), rows.divider_words(entry), function()
      return rows.divider(entry)
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
      return rows.banner(entry)
    elseif entry.kind == "activity" then
      return rows.activity(entry, is_first)
    elseif entry.role == "user" then
      return rows.prompt(entry, number)
    end
    return rows.answer(entry)
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
  local act = turn.number == thread.turn_count and not trimmed and "again" or nil
  local words = rows.end_words(turn)
  self:_add("end " .. turn_id, ("%s %s %s"):format(words, trimmed, act), function()
    return rows.turn_end(words, act, trimmed)
  end).turn_id =
    turn_id
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
    return rows.question(question)
  end)
end

---@private
---@param thread trimpoint.Thread
function Builder:_queue(thread)
  for _, prompt in ipairs(thread.queue) do
    local words = threads.queued_text(prompt)
    local block = self:_add("queued " .. tostring(prompt.id), words, function()
      return rows.queued(words)
    end)
    block.prompt_id = prompt.id
  end
end

---@private
---@param scene trimpoint.Scene
function Builder:_footer(scene)
  local lines, marks = { "" }, {}
  for _, notice in ipairs(scene.notices) do
    for _, line in ipairs(text.lines(notice.words)) do
      lines[#lines + 1] = line
      marks[#marks + 1] = rows.whole(#lines - 1, notice.group)
    end
  end
  local next_id = scene.thread and scene.thread.new_thread_id
  self:_add("footer", table.concat(lines, "\n"), function()
    local act = next_id and "thread" or nil
    return rows.finished({ lines = lines, marks = marks, act = act, thread_id = next_id })
  end)
end

---@private
---@param hint string[]
function Builder:_hint(hint)
  self:_add("hint", table.concat(hint, "\n"), function()
    local lines, marks = { "" }, {}
    for _, line in ipairs(hint) do
      lines[#lines + 1] = line
      marks[#marks + 1] = rows.whole(#lines - 1, "TrimpointQuiet")
    end
    return rows.finished({ lines = lines, marks = marks })
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
    local is_recorded = self._history.by_key[("%s %s"):format(item.turnId, item.id)]
      or thread.turns[item.turnId] and thread.turns[item.turnId].status ~= "running"
    if not is_recorded then
      self:_entry(thread --[[@as trimpoint.Thread]], live.entry(item), #item.parts + #item.output)
    end
  end
  local is_empty = not thread or #thread.entries == 0 and #thread.queue == 0
  if is_empty and #scene.live.items == 0 then
    self:_hint(scene.hint)
  end
  for _, question in ipairs(scene.questions) do
    self:_question(question)
  end
  if thread then
    self:_queue(thread)
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
