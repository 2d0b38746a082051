--- Stops what runs in a thread.
local model = require("trimpoint.model.thread")
local session = require("trimpoint.client.session")
local task = require("trimpoint.task")

local M = {}

--- In a task: interrupts the turn, or a compaction.
---@param thread trimpoint.Thread?
---@return boolean was_running, trimpoint.Refusal? refusal
function M.thread(thread)
  if not thread then
    return false, nil
  end
  local running, operation = model.running(thread), model.operation(thread)
  for _, turn_id in ipairs(running) do
    local _, refusal = session.request("turn/interrupt", { threadId = thread.id, turnId = turn_id })
    if refusal then
      return true, refusal
    end
  end
  if #running == 0 and operation then
    local answer, refusal = session.request("commands/cancel", { operationId = operation.id })
    return answer ~= nil and answer.cancelled, refusal
  end
  return #running > 0, nil
end

--- Returns whether something that was sent is about to begin.
---@param chat trimpoint.Chat
---@return boolean
local function is_expected(chat)
  local thread = chat.talk.thread
  if #chat.sending > 0 then
    return true
  end
  return thread ~= nil
    and (next(thread.requested) ~= nil or (#thread.queue > 0 and not thread.queue_hold))
end

--- In a task: stops what runs, and what is about to begin as soon as it has begun.
---@param chat trimpoint.Chat
---@return boolean was_something, trimpoint.Refusal? refusal
function M.chat(chat)
  local was_running, refusal = M.thread(chat.talk.thread)
  chat.stops_next = not was_running and not refusal and is_expected(chat)
  return was_running or chat.stops_next, refusal
end

--- Stops what has begun, if it is not wanted any more.
---@param chat trimpoint.Chat
function M.look(chat)
  local thread = chat.talk.thread
  if not chat.stops_next or not thread then
    return
  end
  if #model.running(thread) > 0 or model.operation(thread) then
    chat.stops_next = false
    task.run(function()
      M.thread(thread)
    end)
  else
    chat.stops_next = is_expected(chat)
  end
end

return M
