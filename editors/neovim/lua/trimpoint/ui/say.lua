--- What is said to a person: in the chat where that is in sight, else as a message of one line,
--- which asks for no key.
local text = require("trimpoint.model.text")
local windows = require("trimpoint.ui.windows")

local M = {}

---@alias trimpoint.Tone "done"|"info"|"warning"|"problem"

---@class trimpoint.Said
---@field words string
---@field tone trimpoint.Tone

local LEVELS = {
  done = vim.log.levels.INFO,
  info = vim.log.levels.INFO,
  warning = vim.log.levels.WARN,
  problem = vim.log.levels.ERROR,
}
local LONGEST_MESSAGE = 400

---@param words string
---@param tone trimpoint.Tone
local function notify(words, tone)
  local width = math.max(40, math.min(LONGEST_MESSAGE, vim.o.columns - 14))
  vim.notify(text.one_line(words, width), LEVELS[tone], { title = "trimpoint" })
end

---@param words string
function M.info(words)
  notify(words, "info")
end

---@param words string
function M.warning(words)
  notify(words, "warning")
end

---@param refusal trimpoint.Refusal
---@return string
local function words_of(refusal)
  local hint = refusal.hint and refusal.hint ~= "" and "\n" .. refusal.hint or ""
  return refusal.message .. hint
end

--- Says why something was refused, and what to do.
---@param refusal trimpoint.Refusal
---@param chat trimpoint.Chat?
function M.refusal(refusal, chat)
  M.in_chat(chat, words_of(refusal), "problem")
end

--- Says something in a chat, and as a message where the end of the chat is out of sight.
---@param chat trimpoint.Chat?
---@param words string
---@param tone trimpoint.Tone
function M.in_chat(chat, words, tone)
  local is_seen = chat and windows.shows_end_of(chat.buffer)
  if chat and chat:is_in_sight() then
    chat:say(words, tone)
  end
  if not is_seen then
    notify(words, tone)
  end
end

return M
