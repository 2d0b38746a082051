--- One thread that the editor follows: what is known, what is live, and what a person does in it.
local history = require("trimpoint.client.history")
local hub = require("trimpoint.client.hub")
local live = require("trimpoint.model.live")
local model = require("trimpoint.model.thread")
local questions = require("trimpoint.model.questions")
local session = require("trimpoint.client.session")
local settings = require("trimpoint.model.settings")
local task = require("trimpoint.task")
local threads = require("trimpoint.client.threads")

local M = {}

local JOIN_AFTER_MS = 600
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
---@field on_begun fun() a command is carried out
---@field on_warning fun(message: string) something that a person should know
---@field on_ready fun() the daemon can be asked again

---@class trimpoint.Conversation
---@field id? string nil until the first prompt begins the thread
---@field cwd string
---@field thread? trimpoint.Thread
---@field live trimpoint.Live
---@field questions trimpoint.Question[]
---@field settings? trimpoint.Settings what the thread works with, once that is known
---@field progress string what a command says of its progress
---@field problem string why the thread cannot be shown
---@field private _page integer
---@field private _listener trimpoint.ConversationListener
---@field private _joined boolean
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
    progress = "",
    problem = "",
    _page = page,
    _listener = listener,
    _joined = false,
    _was_lost = false,
    _reloading = false,
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
    live.take(self.live, answer.live)
    if self:is_busy() then
      self:join()
    else
      self:_join_later()
    end
  end
  return refusal
end

--- The settings come with it. It makes Codex load the thread, which is not worth it where a person
--- only passes by.
---@private
function Conversation:_join_later()
  vim.defer_fn(function()
    if hub.has(self) and session.state() == "ready" and not self.thread.read_only then
      task.run(function()
        self:join()
      end)
    end
  end, JOIN_AFTER_MS)
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
  refusal = refusal or self:follow()
  self._was_lost = refusal ~= nil and session.state() ~= "ready"
  return refusal
end

---@private
---@return trimpoint.Refusal?
function Conversation:_adopt()
  local answer, refusal = threads.join(self.id)
  self._joined, self.settings = refusal == nil, settings.of(answer)
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
  end)
end

--- In a task: takes part in the thread: from then on Codex's deltas and questions come here too.
---@return trimpoint.Refusal?
function Conversation:join()
  if self._joined or not self.id or (self.thread and self.thread.archived) then
    return nil
  end
  self._joined = true
  local answer, refusal = threads.join(self.id)
  if refusal then
    self._joined = false
    return refusal
  end
  self.settings = settings.of(answer)
  -- What was said before this client took part.
  local now = self:is_busy()
      and session.request("orchestration/snapshot", { threadId = self.id, turns = 0 })
    or {}
  live.take(self.live, now.live)
  for _, question in ipairs(self.questions) do
    question.item = question.item or self:_item_of(question)
  end
  self:_changed()
  return nil
end

---@return boolean
function Conversation:is_busy()
  return self.thread ~= nil and model.is_busy(self.thread)
end

---@private
---@return trimpoint.Refusal?
function Conversation:_begin()
  local answer, refusal = threads.start(self.cwd)
  if refusal then
    return refusal
  end
  self.id, self._joined, self.settings = answer.thread.id, true, settings.of(answer)
  return self:follow()
end

--- In a task: makes sure of a daemon, and of a thread: one begins if there is none yet.
---@return trimpoint.Refusal?
function Conversation:prepare()
  local refusal = self:_come_back()
  if not refusal and not self.id then
    refusal = self:_begin()
  end
  return refusal
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
  if not questions.has(self.questions, question) then
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
    self._listener.on_begun()
  end,
  ["warning"] = function(self, params)
    local is_ours = params.from == "trimpoint"
    return is_ours and self._listener.on_warning(params.message or "")
  end,
  ["thread/settings/updated"] = function(self, params)
    self.settings = settings.of(params.threadSettings)
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

---@private
---@param question trimpoint.Question
---@return table? item that it is about
function Conversation:_item_of(question)
  local about = self.live.by_id[question.params.itemId or ""]
  return about and about.detail
end

---@param id string|integer
---@param method string
---@param params table
function Conversation:on_question(id, method, params)
  local question = { id = id, method = method, params = params }
  question.item = self:_item_of(question)
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
      self._listener.on_ready()
    end)
  elseif state == "ready" then
    self._listener.on_ready()
  elseif state == "lost" then
    self._joined, self._was_lost, self.questions, self.progress = false, true, {}, ""
  end
  self:_changed()
end

return M
