--- Chats whose windows are there before it is known which thread they show.
local say = require("trimpoint.ui.say")
local task = require("trimpoint.task")

local M = {}

---@type table<trimpoint.Chat, fun(shown: trimpoint.Chat)[]> what waits for the thread of a chat
local waiting = {}

--- Returns whether it is not known yet which thread a chat shows.
---@param chat trimpoint.Chat
---@return boolean
function M.is_waiting(chat)
  return waiting[chat] ~= nil
end

--- In a task: returns the chat that a prompt goes to, once that is known.
---@param chat trimpoint.Chat
---@return trimpoint.Chat
function M.known(chat)
  local waiters = waiting[chat]
  if not waiters then
    return chat
  end
  say.in_chat(chat, "Not sent yet: the daemon is starting.", "info")
  return task.await(function(resume)
    table.insert(waiters, resume)
  end)
end

--- In a task: shows a chat at once, then the thread that `find` returns in its windows, if any.
---@param chat trimpoint.Chat
---@param find fun(): trimpoint.KnownThread?
---@return trimpoint.Chat
function M.open(chat, find)
  waiting[chat] = {}
  chat:show()
  local found, waiters = find(), waiting[chat]
  waiting[chat] = nil
  local shown = found and chat:go_on_as(found.id) or chat
  chat:draw_soon()
  for _, resume in ipairs(waiters) do
    resume(shown)
  end
  return shown
end

return M
