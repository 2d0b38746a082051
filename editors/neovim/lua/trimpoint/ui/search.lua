--- Finds words in a whole thread, what left the context included.
local say = require("trimpoint.ui.say")
local text = require("trimpoint.model.text")
local windows = require("trimpoint.ui.windows")

local M = {}

---@param buffer integer
---@param wanted string
---@return table[] for a location list
local function matches(buffer, wanted)
  local found = {}
  for row, line in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) do
    local at = vim.fn.tolower(line):find(wanted, 1, true)
    if at then
      found[#found + 1] = { bufnr = buffer, lnum = row, col = at, text = text.one_line(line, 300) }
    end
  end
  return found
end

--- In a task: loads all of the thread, and lists the lines that have the words.
---@param chat trimpoint.Chat
---@param words string
function M.run(chat, words)
  local refusal = chat.talk:load_older(true)
  if refusal then
    say.refusal(refusal, chat)
    return
  end
  chat:draw()
  local found = matches(chat.buffer, vim.fn.tolower(words))
  if #found == 0 then
    say.in_chat(chat, ("Nothing in this thread has %q."):format(words), "info")
    return
  end
  chat:show()
  local window = windows.showing(chat.buffer) --[[@as integer]]
  vim.api.nvim_set_current_win(window)
  vim.fn.setloclist(window, {}, " ", { title = "trimpoint: " .. words, items = found })
  vim.cmd.lopen()
end

return M
