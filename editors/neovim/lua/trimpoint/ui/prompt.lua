--- Where a person types: a prompt of any number of lines, or a command.
local config = require("trimpoint.config")
local draft = require("trimpoint.model.draft")
local omni = require("trimpoint.completion.omni")
local task = require("trimpoint.task")

local M = {}

local NAMESPACE = vim.api.nvim_create_namespace("trimpoint.prompt")
local PLACEHOLDER = "Ask, or type / for commands."

--- Returns what stands in a prompt.
---@param buffer integer
---@return string
function M.text(buffer)
  return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n")
end

---@param buffer integer
local function show_placeholder(buffer)
  vim.api.nvim_buf_clear_namespace(buffer, NAMESPACE, 0, -1)
  if vim.trim(M.text(buffer)) == "" then
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

--- Takes a text out that a prompt begins with; what is typed behind it stays, with its cursor.
---@param buffer integer
---@param words string
function M.take_out(buffer, words)
  local text = M.text(buffer)
  local length = draft.length_of(text, words)
  if not length then
    return
  elseif length == #text then
    M.fill(buffer, "")
    return
  end
  local gone = vim.split(text:sub(1, length), "\n", { plain = true })
  vim.api.nvim_buf_set_text(buffer, 0, 0, #gone - 1, #gone[#gone], {})
end

--- Puts a text before what stands in a prompt.
---@param buffer integer
---@param words string
function M.put_before(buffer, words)
  local rest = M.text(buffer)
  M.fill(buffer, vim.trim(rest) == "" and words or words .. "\n" .. rest)
end

--- Notes that a text was sent, to be recalled.
---@param buffer integer
---@param text string
function M.remember(buffer, text)
  local sent = vim.b[buffer].trimpoint_sent or {}
  table.insert(sent, text)
  vim.b[buffer].trimpoint_sent, vim.b[buffer].trimpoint_recalled = sent, nil
end

--- Brings back what was sent before, or after that; behind the last one is what was being typed.
---@param buffer integer
---@param step integer -1 is older
local function recall(buffer, step)
  local sent = vim.b[buffer].trimpoint_sent or {}
  local from = vim.b[buffer].trimpoint_recalled or #sent + 1
  local at = from + step
  if at < 1 or at > #sent + 1 then
    return
  elseif from == #sent + 1 then
    vim.b[buffer].trimpoint_typed = M.text(buffer)
  end
  vim.b[buffer].trimpoint_recalled = at
  M.fill(buffer, sent[at] or vim.b[buffer].trimpoint_typed or "")
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
    chat:submit("enter")
  end
  map("n", "<CR>", send, "Send")
  map({ "n", "i" }, "<C-s>", send, "Send")
  for _, key in ipairs({ "<M-CR>", "<C-CR>" }) do
    map({ "n", "i" }, key, function()
      chat:submit("queue")
    end, "Send after the turn that runs")
  end
  map("n", "<C-c>", "<Cmd>Trimpoint interrupt<CR>", "Interrupt the turn")
  map("n", "q", function()
    chat:hide()
  end, "Hide the chat")
  map({ "n", "i" }, "<M-p>", function()
    recall(buffer, -1)
  end, "The prompt before")
  map({ "n", "i" }, "<M-n>", function()
    recall(buffer, 1)
  end, "The prompt after")
  map("n", "<Tab>", "<Cmd>Trimpoint answer<CR>", "Answer the agent")
  require("trimpoint.ui.keys").map_mouse(buffer)
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
