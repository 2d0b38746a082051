--- Where a person types: a prompt of any number of lines, or a command.
local config = require("trimpoint.config")
local omni = require("trimpoint.completion.omni")
local task = require("trimpoint.task")

local M = {}

local NAMESPACE = vim.api.nvim_create_namespace("trimpoint.prompt")
local PLACEHOLDER = "Ask, or type / for commands. <CR> in normal mode or <C-s> sends."

---@param buffer integer
---@return string
local function typed_in(buffer)
  return vim.trim(table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n"))
end

---@param buffer integer
local function show_placeholder(buffer)
  vim.api.nvim_buf_clear_namespace(buffer, NAMESPACE, 0, -1)
  if typed_in(buffer) == "" then
    local words = { { PLACEHOLDER, "TrimpointQuiet" } }
    vim.api.nvim_buf_set_extmark(
      buffer,
      NAMESPACE,
      0,
      0,
      { virt_text = words, virt_text_pos = "overlay" }
    )
  end
end

--- Puts a text into a prompt, in the place of what is there.
---@param buffer integer
---@param words string
function M.fill(buffer, words)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(words, "\n", { plain = true }))
  show_placeholder(buffer)
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    local last = vim.api.nvim_buf_line_count(buffer)
    local line = vim.api.nvim_buf_get_lines(buffer, last - 1, last, false)[1]
    vim.api.nvim_win_set_cursor(window, { last, #line })
  end
end

--- Moves what is typed from one prompt to another.
---@param from integer
---@param to integer
function M.take_over(from, to)
  local words = table.concat(vim.api.nvim_buf_get_lines(from, 0, -1, false), "\n")
  if vim.trim(words) ~= "" then
    M.fill(to, words)
    M.fill(from, "")
  end
end

--- Sends what is typed; it comes back where it was refused, if nothing else was typed meanwhile.
---@param chat trimpoint.Chat
function M.send(chat)
  local buffer = chat.prompt
  local typed = typed_in(buffer)
  if typed == "" then
    return
  end
  local sent = vim.b[buffer].trimpoint_sent or {}
  table.insert(sent, typed)
  vim.b[buffer].trimpoint_sent, vim.b[buffer].trimpoint_recalled = sent, nil
  M.fill(buffer, "")
  task.run(function()
    if not chat:submit(typed) and vim.api.nvim_buf_is_valid(buffer) and typed_in(buffer) == "" then
      M.fill(buffer, typed)
    end
  end)
end

--- Brings back what was sent before, or after that.
---@param chat trimpoint.Chat
---@param step integer -1 is older
function M.recall(chat, step)
  local buffer = chat.prompt
  local sent = vim.b[buffer].trimpoint_sent or {}
  local at = (vim.b[buffer].trimpoint_recalled or #sent + 1) + step
  if at >= 1 and at <= #sent + 1 then
    vim.b[buffer].trimpoint_recalled = at
    M.fill(buffer, sent[at] or "")
  end
end

--- Opens the menu of commands while one is typed. blink.cmp and nvim-cmp open menus of their own.
---@param buffer integer
local function complete_slash(buffer)
  local line = vim.api.nvim_get_current_line()
  local is_command = line:match("^[/:]%a*$") and vim.api.nvim_win_get_cursor(0)[1] == 1
  if not is_command or vim.fn.pumvisible() == 1 or not config.get().complete_slash then
    return
  elseif package.loaded["blink.cmp"] or package.loaded["cmp"] then
    return
  end
  task.run(function()
    local items = omni.items(line)
    local is_still_typed = vim.api.nvim_get_current_buf() == buffer
      and vim.api.nvim_get_current_line() == line
      and vim.fn.mode() == "i"
    if is_still_typed and #items > 0 and not (#items == 1 and items[1].word == line) then
      vim.fn.complete(1, items)
    end
  end)
end

--- While a prompt is typed, a menu must not write its first item into it.
---@param buffer integer
local function keep_what_is_typed(buffer)
  local before
  vim.api.nvim_create_autocmd("InsertEnter", {
    buffer = buffer,
    callback = function()
      before = before or vim.go.completeopt
      vim.go.completeopt = "menuone,noinsert,noselect"
    end,
  })
  vim.api.nvim_create_autocmd({ "InsertLeave", "BufLeave" }, {
    buffer = buffer,
    callback = function()
      vim.go.completeopt = before or vim.go.completeopt
      before = nil
    end,
  })
end

--- Makes a buffer a prompt.
---@param buffer integer
---@param chat trimpoint.Chat
---@return integer
function M.create(buffer, chat)
  vim.bo[buffer].omnifunc = "v:lua.require'trimpoint.completion.omni'.complete"
  local function map(modes, keys, act, description)
    vim.keymap.set(modes, keys, act, { buffer = buffer, desc = description })
  end
  local function send()
    M.send(chat)
  end
  map("n", "<CR>", send, "Send")
  map({ "n", "i" }, "<C-s>", send, "Send")
  map("n", "<C-c>", "<Cmd>Trimpoint interrupt<CR>", "Interrupt the turn")
  map("n", "q", function()
    chat:hide()
  end, "Hide the chat")
  map({ "n", "i" }, "<M-p>", function()
    M.recall(chat, -1)
  end, "The prompt before")
  map({ "n", "i" }, "<M-n>", function()
    M.recall(chat, 1)
  end, "The prompt after")
  map("n", "<Tab>", "<Cmd>Trimpoint answer<CR>", "Answer the agent")
  map("n", "g?", "<Cmd>help trimpoint-keys<CR>", "The keys")
  vim.api.nvim_create_autocmd({ "TextChanged", "TextChangedI" }, {
    buffer = buffer,
    callback = function()
      show_placeholder(buffer)
    end,
  })
  vim.api.nvim_create_autocmd("TextChangedI", {
    buffer = buffer,
    callback = function()
      complete_slash(buffer)
    end,
  })
  keep_what_is_typed(buffer)
  show_placeholder(buffer)
  return buffer
end

return M
