--- Chats whose windows are there before it is known which thread they show.
local M = {}

---@type table<trimpoint.Chat, true>
local waiting = setmetatable({}, { __mode = "k" })

--- Returns whether it is not known yet which thread a chat shows.
---@param chat trimpoint.Chat
---@return boolean
function M.is_waiting(chat)
  return waiting[chat] ~= nil
end

--- In a task: shows a chat at once, then the thread that `find` returns in its windows, if any.
---@param chat trimpoint.Chat
---@param find fun(): trimpoint.KnownThread?
---@return trimpoint.Chat
function M.open(chat, find)
  waiting[chat] = true
  chat:show()
  local found = find()
  waiting[chat] = nil
  local shown = found and chat:go_on_as(found.id) or chat
  shown:go_on_sending()
  return shown
end

return M
