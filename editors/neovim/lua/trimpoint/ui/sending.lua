--- Sends what is typed. It stays in the prompt until the daemon has acknowledged it, and is kept on
--- disk with the rest of the draft: no lost connection and no end of the editor takes it.
local context = require("trimpoint.ui.context")
local draft = require("trimpoint.model.draft")
local kept = require("trimpoint.client.kept")
local opening = require("trimpoint.ui.opening")
local prompt = require("trimpoint.ui.prompt")
local queue = require("trimpoint.client.queue")
local say = require("trimpoint.ui.say")
local task = require("trimpoint.task")

local M = {}

local KEEP_AFTER_MS = 300
local AGAIN_AFTER_MS = 1000

---@param chat trimpoint.Chat
---@return string
local function name_of(chat)
  return chat.talk.id or "new in " .. chat.talk.cwd
end

--- Keeps the draft of a chat on disk.
---@param chat trimpoint.Chat
function M.keep(chat)
  if not vim.api.nvim_buf_is_valid(chat.prompt) then
    return
  end
  local name = name_of(chat)
  if chat.kept_as and chat.kept_as ~= name then
    kept.write(chat.kept_as, { text = "", sending = {} })
  end
  chat.kept_as = name
  local sending = vim.list_extend(queue.unread(chat.talk), chat.sending)
  local problem = kept.write(name, { text = prompt.text(chat.prompt), sending = sending })
  if problem then
    vim.notify_once("trimpoint: what you type is not kept: " .. problem, vim.log.levels.WARN)
  end
end

--- Keeps it in a moment, once for all that changes until then.
---@param chat trimpoint.Chat
function M.keep_soon(chat)
  if not chat.is_keeping then
    chat.is_keeping = true
    vim.defer_fn(function()
      chat.is_keeping = false
      M.keep(chat)
    end, KEEP_AFTER_MS)
  end
end

--- Puts a kept draft into the prompt of a chat, and keeps what is typed there from now on.
---@param chat trimpoint.Chat
function M.watch(chat)
  local found = kept.read(name_of(chat))
  chat.kept_as = found and name_of(chat) or nil
  for _, one in ipairs(found and found.sending or {}) do
    -- Whether it was sent is not known; under its id the daemon takes it once.
    chat.known_ids[one.text] = one.id
  end
  if found then
    prompt.fill(chat.prompt, draft.whole(found))
  end
  vim.api.nvim_create_autocmd({ "TextChanged", "TextChangedI" }, {
    buffer = chat.prompt,
    callback = function()
      M.keep_soon(chat)
    end,
  })
  vim.api.nvim_create_autocmd("VimLeavePre", {
    group = vim.api.nvim_create_augroup("trimpoint.keep." .. chat.prompt, {}),
    callback = function()
      M.keep(chat)
    end,
  })
end

---@param chat trimpoint.Chat
---@param sent trimpoint.Outgoing
local function end_sending(chat, sent)
  chat.sending = vim.tbl_filter(function(one)
    return one ~= sent
  end, chat.sending)
end

--- Takes what was acknowledged out of the prompt.
---@param chat trimpoint.Chat
---@param sent trimpoint.Outgoing
local function acknowledge(chat, sent)
  end_sending(chat, sent)
  chat.known_ids[sent.text] = nil
  if sent.is_typed then
    prompt.take_out(chat.prompt, sent.text)
  end
  M.keep(chat)
end

---@param chat trimpoint.Chat
---@param sent trimpoint.Outgoing
local function put_back(chat, sent)
  end_sending(chat, sent)
  chat.known_ids[sent.text] = nil
  if not sent.is_typed then
    prompt.put_before(chat.prompt, sent.text)
  end
  M.keep(chat)
end

---@param chat trimpoint.Chat
---@param sent trimpoint.Outgoing
---@return boolean is_over nothing is left to send of it
local function run_command(chat, sent)
  if not sent.text:match("^[/:]%a") then
    return false
  end
  chat.on_begun = function()
    acknowledge(chat, sent)
  end
  local is_handled, is_done = require("trimpoint.ui.slash").run(chat, sent.text)
  chat.on_begun = nil
  if not is_handled then
    return false
  end
  if vim.tbl_contains(chat.sending, sent) then
    local act = is_done and acknowledge or put_back
    act(chat, sent)
  elseif not is_done and prompt.text(chat.prompt) == "" then
    prompt.fill(chat.prompt, sent.text) -- It had begun, and failed.
  end
  return true
end

--- In a task: sends one; returns whether the rest can follow.
---@param chat trimpoint.Chat
---@param sent trimpoint.Outgoing
---@return boolean
local function send(chat, sent)
  if sent.is_typed and not draft.length_of(prompt.text(chat.prompt), sent.text) then
    end_sending(chat, sent) -- The person has changed it before it was sent.
    return true
  elseif run_command(chat, sent) then
    return true
  end
  local refusal = queue.send(chat.talk, sent)
  if not refusal then
    acknowledge(chat, sent)
  elseif refusal.reason == "disconnected" then
    return false -- It is sent again under its id.
  else
    put_back(chat, sent)
    say.refusal(refusal, chat)
  end
  return true
end

--- Puts what the agent was told in a turn, and has not read when it ends, back into the prompt.
---@param chat trimpoint.Chat
function M.take_back_unread(chat)
  local left = queue.unread(chat.talk)
  chat.talk.told = {}
  for index = #left, 1, -1 do
    prompt.put_before(chat.prompt, left[index].text)
  end
  M.keep(chat)
end

--- Sends what waits, one after the other.
---@param chat trimpoint.Chat
function M.pump(chat)
  local is_sending = chat.pump and coroutine.status(chat.pump) ~= "dead"
  if is_sending or opening.is_waiting(chat) then
    return
  end
  task.run(function()
    chat.pump = coroutine.running()
    while chat.sending[1] and send(chat, chat.sending[1]) do
      chat:draw_soon()
    end
    chat.pump = nil
    chat:draw_soon()
    if chat.sending[1] then -- The connection was lost; a prompt starts a daemon.
      vim.defer_fn(function()
        if vim.api.nvim_buf_is_valid(chat.prompt) then
          M.pump(chat)
        end
      end, AGAIN_AFTER_MS)
    end
  end)
end

---@param chat trimpoint.Chat
---@param text string
---@param mode "enter"|"queue"
---@param is_typed boolean
local function submit(chat, text, mode, is_typed)
  chat:say_nothing()
  chat.stops_next = false
  local id = chat.known_ids[text] or queue.new_id()
  local words = text:find("^[/:]") and text or context.expanded(text)
  local sent = { id = id, text = text, words = words, mode = mode, is_typed = is_typed }
  table.insert(chat.sending, sent)
  M.keep(chat)
  M.pump(chat)
end

--- Sends what was typed in the prompt, a command or a prompt.
---@param chat trimpoint.Chat
---@param mode "enter"|"queue"
function M.typed(chat, mode)
  local text = draft.unsent(prompt.text(chat.prompt), chat.sending)
  if text ~= "" then
    prompt.remember(chat.prompt, text)
    submit(chat, text, mode, true)
  else
    M.pump(chat)
  end
end

--- Sends a text that does not stand in the prompt.
---@param chat trimpoint.Chat
---@param text string
function M.text(chat, text)
  submit(chat, text, "enter", false)
end

--- Moves what was typed, and what is on its way, from one chat to another.
---@param from trimpoint.Chat
---@param to trimpoint.Chat
function M.move(from, to)
  local words = prompt.text(from.prompt)
  if vim.trim(words) ~= "" then
    prompt.put_before(to.prompt, words)
    prompt.fill(from.prompt, "")
  end
  vim.list_extend(to.sending, from.sending)
  from.sending = {}
  M.keep(from)
  M.keep(to)
  M.pump(to)
end

return M
