--- Hands what the daemon sends to the conversation that it is about.
local questions = require("trimpoint.model.questions")
local session = require("trimpoint.client.session")

local M = {}

---@type table<trimpoint.Conversation, true>
local open = {}

---@param conversation trimpoint.Conversation
function M.add(conversation)
  open[conversation] = true
end

---@param conversation trimpoint.Conversation
function M.remove(conversation)
  open[conversation] = nil
end

---@param conversation trimpoint.Conversation
---@return boolean
function M.has(conversation)
  return open[conversation] ~= nil
end

---@param thread_id string?
---@return trimpoint.Conversation?
local function of(thread_id)
  for conversation in pairs(open) do
    if conversation.id ~= nil and conversation.id == thread_id then
      return conversation
    end
  end
  return nil
end

session.listen({
  on_state = function(state)
    for conversation in pairs(open) do
      conversation:on_state(state)
    end
  end,
  on_notification = function(method, params)
    if method == "orchestration/event" then
      -- The thread is in the name of the event: `thread/number`.
      local conversation = of((params.eventId or ""):match("^(.*)/"))
      if conversation then
        conversation:on_event(params)
      end
      return
    end
    local conversation = of(params.threadId)
    if conversation then
      conversation:on_notification(method, params)
    end
  end,
  on_question = function(id, method, params)
    local conversation = questions.is_answered(method) and of(params.threadId)
    if conversation then
      conversation:on_question(id, method, params)
    end
    return conversation ~= nil
  end,
})

return M
