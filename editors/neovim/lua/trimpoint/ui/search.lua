--- Finds words in a thread with the daemon's index, what left the context included.
local say = require("trimpoint.ui.say")
local session = require("trimpoint.client.session")
local text = require("trimpoint.model.text")
local threads = require("trimpoint.model.thread")
local windows = require("trimpoint.ui.windows")

local M = {}

local MOST = 100

--- Returns the row of a block that has the first word that was found, else the first with a text.
---@param block trimpoint.Block
---@param word string
---@return integer from 0, within the block
local function row_in(block, word)
  local with_text
  for index, line in ipairs(block.lines) do
    if word ~= "" and vim.fn.tolower(line):find(word, 1, true) then
      return index - 1
    end
    with_text = with_text or (line ~= "" and index - 1 or nil)
  end
  return with_text or 0
end

---@param hit table
---@return string the first word of the query in the snippet, in small letters
local function word_of(hit)
  local mark = hit.marks[1]
  return mark and vim.fn.tolower(vim.fn.strcharpart(hit.snippet, mark[1], mark[2] - mark[1])) or ""
end

---@param hit table
---@return string
local function words_of(hit)
  local where = hit.inContext and "" or ", pruned"
  return ("turn %d, %s%s: %s"):format(hit.turn, hit.kind, where, text.one_line(hit.snippet, 300))
end

---@param chat trimpoint.Chat
---@return table<string, { block: trimpoint.Block, start: integer }>
local function places(chat)
  local found = {}
  for index, block in ipairs(chat.canvas.blocks) do
    found[block.key] = { block = block, start = chat.canvas.starts[index] }
  end
  return found
end

---@param hit table
---@return string
local function key_of(hit)
  return threads.key({ kind = "message", turnId = hit.turnId, id = hit.entryId })
end

---@param chat trimpoint.Chat
---@param hits table[]
---@return trimpoint.Refusal? refusal, table[] items for a location list
local function items_of(chat, hits)
  chat:draw()
  local place = places(chat)
  for _, hit in ipairs(hits) do
    if not place[key_of(hit)] then
      local refusal = chat.talk:load_older(true)
      if refusal then
        return refusal, {}
      end
      chat:draw()
      place = places(chat)
      break
    end
  end
  local items = {}
  for _, hit in ipairs(hits) do
    local at = place[key_of(hit)]
    local row = at and at.start + row_in(at.block, word_of(hit)) or 0
    items[#items + 1] = { bufnr = chat.buffer, lnum = row + 1, col = 1, text = words_of(hit) }
  end
  return nil, items
end

--- In a task: lists what the daemon finds, the best first.
---@param chat trimpoint.Chat
---@param words string
function M.run(chat, words)
  local asked = { threadId = chat.talk.id, scope = "thread", query = words, limit = MOST }
  local answer, refusal = session.request("history/search", asked)
  local items = {}
  if not refusal then
    refusal, items = items_of(chat, answer.hits)
  end
  if refusal then
    say.refusal(refusal, chat)
  elseif #items == 0 then
    say.in_chat(chat, ("Nothing in this thread has %q."):format(words), "info")
  else
    chat:show()
    local window = windows.showing(chat.buffer) --[[@as integer]]
    vim.api.nvim_set_current_win(window)
    vim.fn.setloclist(window, {}, " ", { title = "trimpoint: " .. words, items = items })
    vim.cmd.lopen()
  end
end

return M
