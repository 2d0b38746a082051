--- One thread that the editor follows: what is known, what is live, and what a person does in it.
local history = require("trimpoint.client.history")
local hub = require("trimpoint.client.hub")
local live = require("trimpoint.model.live")
local model = require("trimpoint.model.thread")
local session = require("trimpoint.client.session")
local task = require("trimpoint.task")
local threads = require("trimpoint.client.threads")

local M = {}

local STARTS_WORK = {
  ["thread.turn-requested"] = true,
  ["thread.turn-started"] = true,
  ["thread.request-opened"] = true,
}

---@class trimpoint.ConversationListener
---@field on_change fun() something that is shown has changed
---@field on_question fun(question: trimpoint.Question)
---@field on_resolved fun(question: trimpoint.Question)
---@field on_turn_end fun(status: string)

---@class trimpoint.Conversation
---@field id? string nil until the first prompt begins the thread
---@field cwd string
---@field thread? trimpoint.Thread
---@field live trimpoint.Live
---@field questions trimpoint.Question[]
---@field queue string[] prompts that wait for the turn to end
---@field progress string what a command says of its progress
---@field problem string why the thread cannot be shown
---@field private _page integer
---@field private _listener trimpoint.ConversationListener
---@field private _joined boolean
---@field private _sending boolean
---@field private _was_lost boolean
---@field private _reloading boolean
---@field private _reload_again boolean
local Conversation = {}
Conversation.__index = Conversation

---@param thread_id string?
---@param cwd string
---@param page integer how many entries are loaded at once
---@param listener trimpoint.ConversationListener
---@return trimpoint.Conversation
function M.open(thread_id, cwd, page, listener)
  local self = setmetatable({
    id = thread_id,
    cwd = cwd,
    live = live.new(),
    questions = {},
    queue = {},
    progress = "",
    problem = "",
    _page = page,
    _listener = listener,
    _joined = false,
    _sending = false,
    _was_lost = false,
    _reloading = false,
    _reload_again = false,
  }, Conversation)
  hub.add(self)
  return self
end

--- Follows it no longer.
function Conversation:close()
  hub.remove(self)
  local id, was_joined = self.id, self._joined
  if not id or session.state() ~= "ready" then
    return
  end
  task.run(function()
    session.request("orchestration/unsubscribeThread", { threadId = id })
    if was_joined then
      session.request("thread/unsubscribe", { threadId = id })
    end
  end)
end

--- In a task: follows the thread from where the editor is.
---@return trimpoint.Refusal?
function Conversation:follow()
  if not self.id then
    return nil
  end
  self.questions, self.live = {}, live.new()
  local after = self.thread and self.thread.sequence or nil
  local answer, refusal =
    session.request("orchestration/subscribeThread", { threadId = self.id, afterSequence = after })
  if refusal and not self.thread then
    -- Codex may know it where trimpoint does not yet; taking part adopts it.
    refusal = self:_adopt()
    if not refusal then
      answer, refusal = session.request("orchestration/subscribeThread", { threadId = self.id })
    end
  end
  if not refusal and answer.mode == "snapshot" then
    refusal = self:_take(answer.thread, self._page)
  end
  self.problem = refusal and refusal.message or ""
  self:_changed()
  if not refusal then
    if self:is_busy() then
      self:join()
    end
    self:_send_queued()
  end
  return refusal
end

--- In a task: gets a daemon again, and what became of the thread: a turn ended with its daemon.
---@private
---@return trimpoint.Refusal?
function Conversation:_come_back()
  if not self._was_lost then
    return nil
  end
  self._was_lost = false
  local refusal = session.connect({ may_start = true })
  if refusal and refusal.reason == "no_daemon" then -- of an attempt that may start none
    refusal = session.connect({ may_start = true })
  end
  refusal = refusal or self:follow()
  self._was_lost = refusal ~= nil and session.state() ~= "ready"
  return refusal
end

---@private
---@return trimpoint.Refusal?
function Conversation:_adopt()
  local refusal = threads.join(self.id)
  self._joined = refusal == nil
  return refusal
end

---@private
---@param snapshot table
---@param limit integer
---@return trimpoint.Refusal?
function Conversation:_take(snapshot, limit)
  local fresh, refusal = history.of_snapshot(snapshot, limit)
  self.thread = fresh or self.thread
  return refusal
end

--- In a task: loads older entries, one page or all.
---@param is_all boolean?
---@return trimpoint.Refusal?
function Conversation:load_older(is_all)
  local thread = self.thread
  while thread and thread.cursor and thread == self.thread do
    local refusal = history.read_page(thread, is_all and history.LARGEST_PAGE or self._page)
    self:_changed()
    if refusal or not is_all then
      return refusal
    end
  end
  return nil
end

--- Reads snapshot and timeline again; what comes meanwhile is read in a second round.
function Conversation:reload()
  if self._reloading then
    self._reload_again = true
    return
  end
  self._reloading = true
  task.run(function()
    repeat
      self._reload_again = false
      local answer, refusal = session.request("orchestration/snapshot", { threadId = self.id })
      if not refusal then
        self:_take(answer.thread, math.max(self._page, self.thread and #self.thread.entries or 0))
        self:_changed()
      end
    until refusal or not self._reload_again
    self._reloading = false
    self:_send_queued()
  end)
end

--- In a task: takes part in the thread: from then on Codex's deltas and questions come here too.
---@return trimpoint.Refusal?
function Conversation:join()
  if self._joined or not self.id or (self.thread and self.thread.archived) then
    return nil
  end
  self._joined = true
  local refusal = threads.join(self.id)
  if refusal then
    self._joined = false
  end
  return refusal
end

---@return boolean
function Conversation:is_busy()
  return self.thread ~= nil and model.is_busy(self.thread)
end

---@private
---@return trimpoint.Refusal?
function Conversation:_begin()
  local id, refusal = threads.start(self.cwd)
  if refusal then
    return refusal
  end
  self.id, self._joined = id, true
  return self:follow()
end

---@private
---@param text string
---@return trimpoint.Refusal?
function Conversation:_send_now(text)
  local refusal
  if self.id then
    refusal = self:join()
  else
    refusal = self:_begin()
  end
  if refusal then
    return refusal
  end
  local input = { { type = "text", text = text } }
  return select(2, session.request("turn/start", { threadId = self.id, input = input }))
end

--- In a task: sends a prompt; while the agent works, or another prompt is on its way, it waits for
--- its turn.
---@param text string
---@return trimpoint.Refusal?
function Conversation:send(text)
  local gone = self:_come_back()
  if gone then
    return gone
  end
  if self._sending or self:is_busy() then
    table.insert(self.queue, text)
    self:_changed()
    return nil
  end
  self._sending = true
  local refusal = self:_send_now(text)
  self._sending = false
  self:_send_queued()
  return refusal
end

---@private
function Conversation:_send_queued()
  if #self.queue == 0 or self._sending or self:is_busy() or self._reloading then
    return
  end
  local text = table.remove(self.queue, 1)
  task.run(function()
    local refusal = self:send(text)
    if refusal then
      table.insert(self.queue, 1, text)
      self.problem = refusal.message
    end
    self:_changed()
  end)
end

--- In a task: has a slash command carried out.
---@param text string
---@param is_dry_run boolean? say what would be done
---@return table? outcome, trimpoint.Refusal? refusal
function Conversation:execute(text, is_dry_run)
  local params = { text = text, threadId = self.id, dryRun = is_dry_run or nil }
  local outcome, refusal = session.request("commands/execute", params)
  self.progress = ""
  self:_changed()
  return outcome, refusal
end

--- Answers a question of the agent, if it is still open.
---@param question trimpoint.Question
---@param result table
---@return boolean
function Conversation:answer(question, result)
  if not vim.tbl_contains(self.questions, question) then
    return false
  end
  self:_withdraw(question.id)
  session.answer(question.id, result)
  self:_changed()
  return true
end

---@private
function Conversation:_changed()
  self._listener.on_change()
end

---@private
---@param id string|integer
---@return trimpoint.Question?
function Conversation:_withdraw(id)
  for index, question in ipairs(self.questions) do
    if question.id == id then
      return table.remove(self.questions, index)
    end
  end
  return nil
end

---@param envelope table
function Conversation:on_event(envelope)
  local thread = self.thread
  if not thread then
    return
  end
  local was_busy = model.is_busy(thread)
  local is_new, must_reload = model.apply(thread, envelope)
  if not is_new then
    return
  end
  if envelope.type == "thread.entry-recorded" then
    live.forget(self.live, envelope.payload.entryId)
  elseif envelope.type == "thread.turn-completed" then
    self._listener.on_turn_end(envelope.payload.status)
  end
  if STARTS_WORK[envelope.type] and not self._joined then
    task.run(function()
      self:join()
    end)
  end
  if must_reload then
    self:reload()
  end
  if was_busy and not model.is_busy(thread) then
    self.progress = ""
    self:_send_queued()
  end
  self:_changed()
end

---@type table<string, fun(self: trimpoint.Conversation, params: table)>
local NOTIFICATIONS = {
  ["context/updated"] = function(self, params)
    if self.thread then
      self.thread.context = params
    end
  end,
  ["commands/progress"] = function(self, params)
    self.progress = params.message or ""
  end,
  ["serverRequest/resolved"] = function(self, params)
    local question = self:_withdraw(params.requestId)
    if question then
      self._listener.on_resolved(question)
    end
  end,
}

---@param method string
---@param params table
function Conversation:on_notification(method, params)
  local take = NOTIFICATIONS[method]
  if take then
    take(self, params)
    self:_changed()
  elseif live.note(self.live, method, params) then
    self:_changed()
  end
end

---@param id string|integer
---@param method string
---@param params table
function Conversation:on_question(id, method, params)
  local about = params.itemId and self.live.by_id[params.itemId]
  local question =
    { id = id, method = method, params = params, item = about and about.detail or nil }
  self:_withdraw(id)
  table.insert(self.questions, question)
  self:_changed()
  self._listener.on_question(question)
end

---@param state trimpoint.State
function Conversation:on_state(state)
  if state == "ready" and self._was_lost and self.id then
    self._was_lost = false
    task.run(function()
      self:follow()
    end)
  elseif state == "lost" then
    self._joined, self._was_lost, self.questions, self.progress = false, true, {}, ""
  end
  self:_changed()
end

return M
