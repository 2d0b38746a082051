--- What is known of one thread: the daemon's snapshot and timeline, kept up to date by its events.
--- Pure.
---
--- No rule of the daemon is repeated: an event that changes what is in the agent's context only
--- says that snapshot and timeline must be read again.
local M = {}

local ENDED = { ready = true, failed = true, cancelled = true }

---@class trimpoint.Turn
---@field number integer counted from 1, pruned turns too
---@field status string running | completed | interrupted | failed
---@field error? string

---@class trimpoint.Thread
---@field id string
---@field name? string
---@field cwd string
---@field archived boolean
---@field read_only? string
---@field new_thread_id? string
---@field links trimpoint.Link[] the thread that it was begun from, and its handoffs
---@field titles table<string, string> of those that are known
---@field sequence integer
---@field revision integer counts the changes
---@field turns table<string, trimpoint.Turn>
---@field turn_count integer
---@field requested table<string, true> prompts that are on their way to Codex
---@field operation? table
---@field requests table[]
---@field context? table
---@field entries table[] of `timeline/read`, oldest first, all sections expanded
---@field queue trimpoint.Queued[] prompts that wait in the daemon
---@field queue_hold? { reason: string, message: string } why they are not sent
---@field cursor? string where the next older page begins; nil when all is loaded

---@class trimpoint.Link
---@field words string
---@field id string
---@field goal? string

---@class trimpoint.Queued
---@field id string
---@field input table[]

--- Returns what a snapshot says, without entries.
---@param snapshot table
---@return trimpoint.Thread
function M.new(snapshot)
  local turns, links = {}, {}
  if snapshot.parentThreadId then
    links[1] = { words = "From ", id = snapshot.parentThreadId }
  end
  for _, handoff in ipairs(snapshot.handoffs or {}) do
    links[#links + 1] = { words = "Handed off to ", id = handoff.threadId, goal = handoff.goal }
  end
  for number, turn in ipairs(snapshot.turns) do
    turns[turn.id] = { number = number, status = turn.status, error = turn.error }
  end
  return {
    id = snapshot.id,
    name = snapshot.name,
    cwd = snapshot.cwd,
    archived = snapshot.archived,
    read_only = snapshot.readOnly,
    new_thread_id = snapshot.newThreadId,
    links = links,
    titles = {},
    sequence = snapshot.sequence,
    revision = 0,
    turns = turns,
    turn_count = #snapshot.turns,
    requested = {},
    operation = snapshot.operation,
    requests = vim.deepcopy(snapshot.pendingRequests),
    context = snapshot.context,
    queue = vim.deepcopy(snapshot.queue or {}),
    queue_hold = snapshot.queueHold,
    entries = {},
    cursor = nil,
  }
end

--- Puts an older page before what is loaded.
---@param thread trimpoint.Thread
---@param page { entries: table[], nextCursor?: string }
function M.add_older(thread, page)
  local known, entries = {}, {}
  for _, entry in ipairs(thread.entries) do
    known[M.key(entry)] = true
  end
  for _, entry in ipairs(page.entries) do
    if not known[M.key(entry)] then
      entries[#entries + 1] = entry
    end
  end
  thread.entries = vim.list_extend(entries, thread.entries)
  thread.cursor = page.nextCursor
  thread.revision = thread.revision + 1
end

--- Returns what tells an entry of the timeline from all others.
---@param entry table
---@return string
function M.key(entry)
  if entry.kind == "message" or entry.kind == "activity" then
    return ("%s %s"):format(entry.turnId, entry.id)
  end
  return ("%s %s"):format(entry.kind, entry.trimPointId)
end

--- Puts an entry behind the others of its turn; one that is there already stays as it is.
---@param thread trimpoint.Thread
---@param payload table
---@param at string
local function record_entry(thread, payload, at)
  local entry = {
    kind = payload.kind,
    id = payload.entryId,
    turnId = payload.turnId,
    role = payload.role,
    activity = payload.role,
    text = payload.text,
    title = payload.text,
    detail = payload.detail,
    createdAt = at,
    trimmed = false,
  }
  local place, is_placed = #thread.entries + 1, false
  for index = #thread.entries, 1, -1 do
    local other = thread.entries[index]
    if other.turnId == entry.turnId and other.id == entry.id then
      if payload.extent == "rest" then -- of an answer of which only a part was recorded
        thread.entries[index] =
          vim.tbl_extend("force", other, { text = entry.text, title = entry.title })
      end
      return
    elseif other.turnId == entry.turnId and not is_placed then
      place, is_placed, entry.trimmed = index + 1, true, other.trimmed
    elseif is_placed and other.turnId and other.turnId ~= entry.turnId then
      break
    end
  end
  if payload.extent ~= "rest" then
    table.insert(thread.entries, place, entry)
  end
end

---@param change fun(thread: trimpoint.Thread, payload: table, envelope: table)
---@return fun(thread: trimpoint.Thread, payload: table, envelope: table): string?
local function keeping(change)
  return function(thread, payload, envelope)
    change(thread, payload, envelope)
    return nil
  end
end

---@param thread trimpoint.Thread
---@param payload table
local function leave_queue(thread, payload)
  thread.queue = vim.tbl_filter(function(prompt)
    return prompt.id ~= payload.promptId
  end, thread.queue)
end

---@param thread trimpoint.Thread
---@param prompt_ids string[]
local function reorder(thread, prompt_ids)
  local rest, first = {}, {}
  for _, prompt in ipairs(thread.queue) do
    first[prompt.id] = prompt
  end
  for _, prompt in ipairs(thread.queue) do
    if not vim.tbl_contains(prompt_ids, prompt.id) then
      rest[#rest + 1] = prompt
    end
  end
  local order = {}
  for _, id in ipairs(prompt_ids) do
    order[#order + 1] = first[id]
  end
  thread.queue = vim.list_extend(order, rest)
end

local function reload()
  return "reload"
end

---@type table<string, fun(thread: trimpoint.Thread, payload: table, envelope: table): string?>
local FOLDS = {
  ["thread.renamed"] = keeping(function(thread, payload)
    thread.name = payload.name
  end),
  ["thread.archived"] = keeping(function(thread)
    thread.archived = true
  end),
  ["thread.unarchived"] = keeping(function(thread)
    thread.archived = false
  end),
  ["thread.archived-and-new-created"] = keeping(function(thread, payload)
    thread.archived = true
    thread.new_thread_id = payload.newThreadId
  end),
  ["thread.turn-requested"] = keeping(function(thread, payload)
    thread.requested[payload.requestId] = true
  end),
  ["thread.turn-request-ended"] = keeping(function(thread, payload)
    thread.requested[payload.requestId] = nil
  end),
  ["thread.turn-started"] = keeping(function(thread, payload)
    if not thread.turns[payload.turnId] then
      thread.turn_count = thread.turn_count + 1
      thread.turns[payload.turnId] = { number = thread.turn_count, status = "running" }
    end
    thread.queue_hold = nil
  end),
  ["thread.turn-retried"] = keeping(function(thread, payload)
    local turn = thread.turns[payload.turnId]
    if turn then
      turn.status, turn.error = "running", nil
    end
    thread.queue_hold = nil
  end),
  ["thread.turn-completed"] = keeping(function(thread, payload)
    local turn = thread.turns[payload.turnId]
    if turn then
      turn.status, turn.error = payload.status, payload.error
    end
  end),
  ["thread.entry-recorded"] = keeping(function(thread, payload, envelope)
    record_entry(thread, payload, envelope.occurredAt)
  end),
  ["thread.operation-started"] = keeping(function(thread, payload, envelope)
    thread.operation = {
      id = payload.operationId,
      kind = payload.kind,
      phase = "requested",
      message = "",
      startedAt = envelope.occurredAt,
    }
  end),
  ["thread.operation-advanced"] = keeping(function(thread, payload)
    local operation = thread.operation
    if operation and operation.id == payload.operationId then
      operation.phase = payload.phase
      operation.message = payload.message ~= "" and payload.message or operation.message
    end
  end),
  ["thread.request-opened"] = keeping(function(thread, payload, envelope)
    table.insert(
      thread.requests,
      { id = payload.requestId, method = payload.method, since = envelope.occurredAt }
    )
  end),
  ["thread.request-closed"] = keeping(function(thread, payload)
    thread.requests = vim.tbl_filter(function(request)
      return request.id ~= payload.requestId
    end, thread.requests)
  end),
  ["thread.prompt-queued"] = keeping(function(thread, payload)
    thread.queue_hold = #thread.queue > 0 and thread.queue_hold or nil
    table.insert(thread.queue, { id = payload.promptId, input = payload.input })
  end),
  ["thread.prompt-edited"] = keeping(function(thread, payload)
    for _, prompt in ipairs(thread.queue) do
      prompt.input = prompt.id == payload.promptId and payload.input or prompt.input
    end
  end),
  ["thread.prompts-reordered"] = keeping(function(thread, payload)
    reorder(thread, payload.promptIds)
  end),
  ["thread.prompt-withdrawn"] = keeping(leave_queue),
  ["thread.prompt-sent"] = keeping(leave_queue),
  ["thread.queue-held"] = keeping(function(thread, payload)
    thread.queue_hold = { reason = payload.reason, message = payload.message }
  end),
  ["thread.queue-released"] = keeping(function(thread)
    thread.queue_hold = nil
  end),
  ["thread.trim-point-created"] = reload,
  ["thread.context-summarized"] = reload,
  ["thread.context-discarded"] = reload,
  ["thread.context-masked"] = reload,
  ["thread.stretch-summarized"] = reload,
  ["thread.trim-undone"] = reload,
  ["thread.trim-redone"] = reload,
  ["thread.turns-reverted"] = reload,
  ["thread.reverted"] = reload,
  ["thread.context-pinned"] = reload,
  ["thread.context-unpinned"] = reload,
  ["thread.handed-off"] = reload,
}

--- Applies an event; one that is known already changes nothing.
---@param thread trimpoint.Thread
---@param envelope table
---@return boolean is_new, boolean must_reload
function M.apply(thread, envelope)
  if envelope.sequence <= thread.sequence then
    return false, false
  end
  thread.sequence = envelope.sequence
  thread.revision = thread.revision + 1
  local fold = FOLDS[envelope.type]
  return true, fold ~= nil and fold(thread, envelope.payload, envelope) == "reload"
end

--- Returns the prompt that a turn began with, nil where it is not loaded.
---@param thread trimpoint.Thread
---@param turn_id string
---@return string?
function M.prompt_of(thread, turn_id)
  for _, entry in ipairs(thread.entries) do
    if entry.turnId == turn_id and entry.role == "user" then
      return entry.text
    end
  end
  return nil
end

--- Returns the text of a queued prompt.
---@param prompt trimpoint.Queued
---@return string
function M.queued_text(prompt)
  local parts = {}
  for _, part in ipairs(type(prompt.input) == "table" and prompt.input or {}) do
    parts[#parts + 1] = type(part.text) == "string" and part.text or nil
  end
  return table.concat(parts, "\n")
end

--- Returns the turns that run.
---@param thread trimpoint.Thread
---@return string[]
function M.running(thread)
  local found = {}
  for id, turn in pairs(thread.turns) do
    if turn.status == "running" then
      found[#found + 1] = id
    end
  end
  return found
end

--- Returns the operation under way.
---@param thread trimpoint.Thread
---@return table?
function M.operation(thread)
  local operation = thread.operation
  return operation and not ENDED[operation.phase] and operation or nil
end

--- Returns whether anything is under way.
---@param thread trimpoint.Thread
---@return boolean
function M.is_busy(thread)
  return next(thread.requested) ~= nil
    or #M.running(thread) > 0
    or M.operation(thread) ~= nil
    or #thread.requests > 0
end

return M
