--- A chat: a thread's history in one buffer, a prompt in another.
local blocks = require("trimpoint.model.blocks")
local config = require("trimpoint.config")
local conversation = require("trimpoint.client.conversation")
local drawing = require("trimpoint.ui.drawing")
local folds = require("trimpoint.ui.folds")
local highlights = require("trimpoint.ui.highlights")
local interrupt = require("trimpoint.client.interrupt")
local opening = require("trimpoint.ui.opening")
local prompt = require("trimpoint.ui.prompt")
local questions = require("trimpoint.ui.questions")
local render = require("trimpoint.ui.render")
local say = require("trimpoint.ui.say")
local sending = require("trimpoint.ui.sending")
local task = require("trimpoint.task")
local threads = require("trimpoint.client.threads")
local windows = require("trimpoint.ui.windows")

local M = {}

local FRAME_MS = 33
---@class trimpoint.Chat
---@field buffer integer
---@field prompt integer the buffer of the prompt
---@field talk trimpoint.Conversation
---@field canvas trimpoint.Canvas
---@field sending trimpoint.Outgoing[] what the daemon has not acknowledged yet
---@field known_ids table<string, string> ids of texts that may have been sent
---@field pump? thread the task that sends
---@field is_keeping boolean
---@field is_stopping? boolean whether the turn was interrupted here, which ends its questions
---@field stops_next? boolean whether what was sent is not wanted any more
---@field kept_as? string
---@field on_begun? fun() called once the daemon carries out a command
---@field builder trimpoint.Builder
---@field private _drawing boolean
---@field private _drawn_at integer
---@field said? trimpoint.Said
local Chat = {}
Chat.__index = Chat

---@type table<integer, trimpoint.Chat>
local by_buffer = {}
---@type trimpoint.Chat?
local last_used
local opened = 0

---@param thread_id string?
---@param cwd string
---@return trimpoint.Chat
local function new(thread_id, cwd)
  highlights.define()
  local self = setmetatable({ _drawing = false, _drawn_at = 0, builder = blocks.builder() }, Chat)
  self.sending, self.known_ids = {}, {}
  self.talk = conversation.open(thread_id, cwd, config.get().page, {
    on_change = function()
      self:draw_soon()
      interrupt.look(self)
      if #(self.talk.told or {}) > 0 then
        sending.keep_soon(self) -- The agent may have read it.
      end
    end,
    on_begun = function()
      if self.on_begun then
        self.on_begun()
      end
    end,
    on_ready = function()
      self:go_on_sending()
    end,
    on_question = function(question)
      self.is_stopping = false
      questions.on_question(question)
    end,
    on_resolved = function()
      if not self.is_stopping then -- Else it ended with the turn.
        say.in_chat(self, "The question was answered elsewhere.", "info")
      end
    end,
    on_warning = function(message)
      say.in_chat(self, message, "warning")
    end,
    on_turn_end = function(status)
      self:_on_turn_end(status)
    end,
  })
  opened = opened + 1
  local name = ("chat-%d"):format(opened)
  self.buffer = windows.scratch("trimpoint://" .. name, "trimpoint")
  vim.bo[self.buffer].modifiable = false
  self.prompt =
    prompt.create(windows.scratch("trimpoint://" .. name .. "/prompt", "trimpoint_prompt"), self)
  vim.bo[self.prompt].undolevels = vim.go.undolevels
  self.canvas = render.new(self.buffer)
  folds.register(self.canvas)
  by_buffer[self.buffer], by_buffer[self.prompt] = self, self
  self:_watch()
  sending.watch(self)
  return self
end

---@private
function Chat:_watch()
  local group = vim.api.nvim_create_augroup("trimpoint." .. self.buffer, {})
  vim.api.nvim_create_autocmd("BufWinEnter", {
    group = group,
    buffer = self.buffer,
    callback = function()
      self:_dress(vim.api.nvim_get_current_win())
    end,
  })
  vim.api.nvim_create_autocmd("BufEnter", {
    group = group,
    callback = function(event)
      if event.buf == self.buffer or event.buf == self.prompt then
        last_used = self
      end
    end,
  })
  vim.api.nvim_create_autocmd("WinClosed", {
    group = group,
    callback = function(event)
      self:_on_window_closed(tonumber(event.match))
    end,
  })
  vim.api.nvim_create_autocmd("BufWipeout", {
    group = group,
    buffer = self.buffer,
    callback = function()
      self:_forget()
    end,
  })
end

---@private
---@param window integer?
function Chat:_on_window_closed(window)
  if
    window
    and vim.api.nvim_win_is_valid(window)
    and vim.api.nvim_win_get_buf(window) == self.buffer
  then
    -- The prompt goes with its history.
    vim.schedule(function()
      local other = windows.showing(self.prompt)
      if other and not windows.showing(self.buffer) and #vim.api.nvim_tabpage_list_wins(0) > 1 then
        vim.api.nvim_win_close(other, true)
      end
    end)
  end
end

---@private
function Chat:_forget()
  sending.keep(self)
  self.talk:close()
  by_buffer[self.buffer], by_buffer[self.prompt] = nil, nil
  if last_used == self then
    last_used = nil
  end
  local prompt_buffer = self.prompt
  vim.schedule(function()
    if vim.api.nvim_buf_is_valid(prompt_buffer) then
      vim.api.nvim_buf_delete(prompt_buffer, { force = true })
    end
  end)
  pcall(vim.api.nvim_del_augroup_by_name, "trimpoint." .. self.buffer)
end

---@private
---@param window integer
function Chat:_dress(window)
  windows.dress_history(window)
  -- What comes is seen: the window goes along while its cursor is at the end.
  vim.api.nvim_win_set_cursor(window, { vim.api.nvim_buf_line_count(self.buffer), 0 })
  folds.set(window, self.canvas)
  local bar = "%{%v:lua.require'trimpoint.ui.bar'.winbar()%}"
  vim.api.nvim_set_option_value("winbar", bar, { scope = "local", win = window })
end

--- Returns whether this tab shows the chat.
---@return boolean
function Chat:is_in_sight()
  return windows.showing(self.buffer) ~= nil
end

--- Says something at the end of the history, until something else is said or sent.
---@param words string
---@param tone trimpoint.Tone
function Chat:say(words, tone)
  self.said = { words = words, tone = tone }
  self:draw_soon()
end

--- Takes back what was said.
function Chat:say_nothing()
  self.said = nil
  self:draw_soon()
end

--- Shows what has changed, at most thirty times a second.
function Chat:draw_soon()
  if self._drawing then
    return
  end
  self._drawing = true
  local pause = math.max(0, FRAME_MS - (vim.uv.now() - self._drawn_at))
  vim.defer_fn(function()
    self._drawing, self._drawn_at = false, vim.uv.now()
    if vim.api.nvim_buf_is_valid(self.buffer) then
      self:draw()
    end
  end, pause)
end

--- Shows what is known now.
function Chat:draw()
  drawing.draw(self, opening.is_waiting(self))
end

---@private
---@param status string
function Chat:_on_turn_end(status)
  sending.take_back_unread(self)
  -- The agent may have written files that are open here.
  vim.schedule(function()
    pcall(vim.cmd.checktime)
  end)
  if not self:is_in_sight() then
    say.info(
      status == "completed" and "The agent has answered." or ("The turn ended: %s."):format(status)
    )
  end
end

--- Shows the chat in this tab, and puts the cursor into its prompt.
function Chat:show()
  local history = windows.showing(self.buffer) or windows.open_history(self.buffer)
  vim.api.nvim_set_current_win(
    windows.showing(self.prompt) or windows.open_prompt(history, self.prompt)
  )
  vim.api.nvim_win_set_cursor(history, { vim.api.nvim_buf_line_count(self.buffer), 0 })
  last_used = self
end

--- Shows the history alone, to read.
function Chat:show_history()
  local history = windows.showing(self.buffer) or windows.open_history(self.buffer)
  vim.api.nvim_set_current_win(history)
  last_used = self
end

--- Hides the chat; the thread goes on.
function Chat:hide()
  for _, buffer in ipairs({ self.prompt, self.buffer }) do
    local window = windows.showing(buffer)
    if window and #vim.api.nvim_tabpage_list_wins(0) > 1 then
      vim.api.nvim_win_close(window, true)
    elseif window then
      vim.cmd.enew()
    end
  end
end

--- Sends what was typed, a command or a prompt.
---@param mode "enter"|"queue" whether it goes into the turn that runs, or waits for its end
function Chat:submit(mode)
  sending.typed(self, mode)
end

--- Sends a text that was not typed in the prompt.
---@param text string
function Chat:send(text)
  sending.text(self, text)
end

--- Sends what could not be sent before.
function Chat:go_on_sending()
  sending.pump(self)
  self:draw_soon()
end

--- In a task: goes on with another thread in the windows of this one; returns its chat.
---@param thread_id string
---@return trimpoint.Chat
function Chat:go_on_as(thread_id)
  local other = M.of_thread(thread_id, self.talk.cwd)
  local function exchange(from, to)
    for _, window in ipairs(vim.fn.win_findbuf(from)) do
      local bar = vim.wo[window].winbar
      vim.api.nvim_win_set_buf(window, to)
      vim.api.nvim_set_option_value("winbar", bar, { scope = "local", win = window })
    end
  end
  if not self.talk.id then
    -- What was typed before the thread was known goes along.
    sending.move(self, other)
  end
  exchange(self.buffer, other.buffer)
  exchange(self.prompt, other.prompt)
  last_used = other
  return other
end

--- Returns the turn under the cursor of the history, or at a line.
---@return trimpoint.Turn?
function Chat:turn_here(line)
  local window = windows.showing(self.buffer)
  local block = window and self.canvas:at((line or vim.api.nvim_win_get_cursor(window)[1]) - 1)
  return block and block.turn_id and self.talk.thread and self.talk.thread.turns[block.turn_id]
    or nil
end

--- Returns the chat that a buffer belongs to.
---@param buffer integer
---@return trimpoint.Chat?
function M.of_buffer(buffer)
  return by_buffer[buffer]
end

--- Returns the ids of the threads that have a chat.
---@return table<string, boolean>
function M.known()
  local found = {}
  for _, chat in pairs(by_buffer) do
    found[chat.talk.id or ""] = true
  end
  return found
end

--- Returns the ids of the threads that this tab shows.
---@return table<string, boolean>
function M.in_sight()
  local found = {}
  for _, chat in pairs(by_buffer) do
    found[chat.talk.id or ""] = found[chat.talk.id or ""] or chat:is_in_sight()
  end
  return found
end

--- Returns the chat of a thread; it begins to follow the thread if there was none.
---@param thread_id string
---@param cwd string
---@return trimpoint.Chat
function M.of_thread(thread_id, cwd)
  for _, chat in pairs(by_buffer) do
    if chat.talk.id == thread_id then
      return chat
    end
  end
  local chat = new(thread_id, cwd)
  chat:draw()
  task.run(function()
    local refusal = chat.talk:follow()
    if refusal then
      say.refusal(refusal, chat)
    end
  end)
  return chat
end

--- Returns a chat whose thread begins with its first prompt.
---@param cwd string
---@return trimpoint.Chat
function M.fresh(cwd)
  local chat = new(nil, cwd)
  chat:draw()
  return chat
end

--- Returns the chat that a person means: that of this buffer, else the last used one of this place.
---@return trimpoint.Chat?
function M.current()
  local here = by_buffer[vim.api.nvim_get_current_buf()]
  if here then
    return here
  end
  if last_used and threads.place_of(last_used.talk.cwd) == threads.here() then
    return last_used
  end
  return nil
end

--- Returns a chat whose agent asks: the one that a person means, else any.
---@return trimpoint.Chat?
function M.asking()
  local all = vim.list_extend({ M.current() or last_used }, vim.tbl_values(by_buffer))
  return vim.iter(all):find(function(chat)
    return #chat.talk.questions > 0
  end)
end

--- Returns the chat that was used last, wherever it works.
---@return trimpoint.Chat?
function M.last_used()
  return last_used
end

return M
