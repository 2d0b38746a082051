--- The line above a chat, and the statusline component: read from what is known, never asked for.
local chats = require("trimpoint.ui.chat")
local meter = require("trimpoint.model.meter")
local model = require("trimpoint.model.thread")
local queue = require("trimpoint.client.queue")
local session = require("trimpoint.client.session")
local settings = require("trimpoint.model.settings")
local text = require("trimpoint.model.text")
local waiting = require("trimpoint.ui.waiting")

local M = {}

---@param group string
---@param words string
---@return string
local function piece(group, words)
  return words == "" and "" or ("%%#%s#%s%%*"):format(group, text.for_statusline(words))
end

-- What a click on a piece does; its number is in the line.
local CLICKS = {
  "Trimpoint context",
  "Trimpoint answer",
  "Trimpoint interrupt",
  "Trimpoint model",
  "Trimpoint permissions",
  "lua require('trimpoint.ui.chat').of_buffer(vim.api.nvim_get_current_buf()):submit('enter')",
}
local CONTEXT, ANSWER, INTERRUPT, MODEL, PERMISSIONS, SEND = 1, 2, 3, 4, 5, 6

---@param number integer
---@param shown string
---@return string
local function clickable(number, shown)
  local act = "v:lua.require'trimpoint.ui.bar'.on_click"
  return shown == "" and "" or ("%%%d@%s@%s%%X"):format(number, act, shown)
end

--- Does what a piece stands for that was clicked.
---@param number integer
function M.on_click(number)
  local window = vim.fn.getmousepos().winid
  if vim.api.nvim_win_is_valid(window) then
    vim.api.nvim_set_current_win(window)
  end
  vim.cmd(CLICKS[number])
end

--- Returns what is under way, in a word; empty where nothing is.
---@param talk trimpoint.Conversation
---@return string
local function busy_words(talk)
  local thread = talk.thread
  if #talk.questions > 0 then
    return "asks"
  elseif talk.progress ~= "" then
    return text.one_line(talk.progress, 60)
  end
  local operation = thread and model.operation(thread)
  if operation then
    return text.one_line(operation.message ~= "" and operation.message or operation.kind, 60)
  end
  return thread and model.is_busy(thread) and "working" or ""
end

--- For the 'winbar' of a chat's history.
---@return string
function M.winbar()
  local chat = chats.of_buffer(vim.api.nvim_get_current_buf())
  if not chat then
    return ""
  end
  local context = chat.talk.thread and chat.talk.thread.context
  local busy = busy_words(chat.talk)
  local asks = #chat.talk.questions > 0
  local doing = busy ~= "" and ("⟳ %s "):format(busy) or ""
  local stop = busy ~= "" and "■ stop " or ""
  local others = waiting.count()
  local elsewhere = others > 0 and ("? %d elsewhere "):format(others) or ""
  local left = piece("TrimpointQuestion", doing)
  left = asks and clickable(ANSWER, left) or left
  if stop ~= "" then
    left = left .. clickable(INTERRUPT, piece("TrimpointQuiet", stop)) .. " "
  end
  left = left .. piece("TrimpointQuestion", elsewhere)
  local right = context and ("context %s"):format(meter.long(context)) or ""
  local needed = vim.fn.strdisplaywidth(doing .. stop .. elsewhere .. right) + 3
  if needed > vim.api.nvim_win_get_width(0) then
    right = ("context %s"):format(meter.short(context)) -- Else its number is what is cut.
  end
  return " " .. left .. "%=%<" .. clickable(CONTEXT, piece(meter.group(context), right)) .. " "
end

--- Returns which key does what with a prompt now.
---@param chat trimpoint.Chat
---@return string
local function keys_words(chat)
  local send = vim.fn.mode():find("^i") and "<C-s>" or "<CR>"
  local thread = chat.talk.thread
  if session.state() == "lost" then
    return "not connected: it is kept"
  elseif #chat.sending > 0 then
    return "not sent yet …"
  elseif queue.steerable(thread) then
    return send .. " steers · <M-CR> queues"
  elseif thread and model.is_busy(thread) then
    return send .. " queues"
  end
  return send .. " sends"
end

--- For the 'winbar' of a prompt: what the thread works with, and what the keys do.
---@return string
function M.prompt()
  local chat = chats.of_buffer(vim.api.nvim_get_current_buf())
  if not chat then
    return ""
  end
  local now = chat.talk.settings
  local group = settings.is_open(now) and "TrimpointWarning" or "TrimpointQuiet"
  local keys = clickable(SEND, piece("TrimpointQuiet", keys_words(chat)))
  -- Where it does not fit, what stands behind the model is cut.
  local model_name, rest = settings.line(now):match("^(.- ·)(.*)$")
  local line = clickable(MODEL, piece(group, model_name or settings.line(now)))
    .. "%<"
    .. clickable(PERMISSIONS, piece(group, rest or ""))
  return " " .. line .. "%= " .. keys .. " "
end

--- For a statusline: how full the context is, and whether the agent works. Empty where there is no
--- chat.
---@return string
function M.statusline()
  local chat = chats.current() or chats.last_used()
  if not chat then
    return ""
  end
  if session.state() == "lost" then
    return "trimpoint ✗"
  end
  local thread = chat.talk.thread
  local signs = { "trimpoint", thread and meter.short(thread.context) or "" }
  if #chat.talk.questions > 0 then
    signs[#signs + 1] = "?"
  elseif busy_words(chat.talk) ~= "" then
    signs[#signs + 1] = "⟳"
  end
  local others = waiting.count()
  signs[#signs + 1] = others > 0 and ("%d waits for you"):format(others) or nil
  local shown = vim.tbl_filter(function(sign)
    return sign ~= ""
  end, signs)
  return text.for_statusline(table.concat(shown, " "))
end

return M
