--- What the last turn changed, shown in the files themselves: accepted, it is as any other text;
--- rejected, the daemon takes files and conversation back to before that turn.
local diff = require("trimpoint.model.diff")
local say = require("trimpoint.ui.say")
local session = require("trimpoint.client.session")
local slash = require("trimpoint.ui.slash")
local text = require("trimpoint.model.text")
local windows = require("trimpoint.ui.windows")

local M = {}

local NAMESPACE = vim.api.nvim_create_namespace("trimpoint.review")

---@type { chat: trimpoint.Chat, turn: integer }?
local open

---@param buffer integer
---@param hunk trimpoint.Hunk
local function mark(buffer, hunk)
  local last = vim.api.nvim_buf_line_count(buffer)
  local function set(row, options)
    pcall(vim.api.nvim_buf_set_extmark, buffer, NAMESPACE, math.min(row, last - 1), 0, options)
  end
  for _, number in ipairs(hunk.added) do
    set(
      number - 1,
      { line_hl_group = "DiffAdd", sign_text = "+", sign_hl_group = "TrimpointAdded" }
    )
  end
  for number, lines in pairs(hunk.removed) do
    local shown = vim.tbl_map(function(line)
      return { { "- " .. text.printable(line), "DiffDelete" } }
    end, lines)
    set(number - 1, { virt_lines = shown, virt_lines_above = number <= last })
  end
end

---@param root string
---@param files trimpoint.FileDiff[]
---@return table[] items for the quickfix list
local function show(root, files)
  local items = {}
  for _, file in ipairs(files) do
    local path = vim.fs.joinpath(root, file.path)
    local buffer = vim.fn.bufadd(path)
    vim.fn.bufload(buffer)
    vim.bo[buffer].buflisted = true
    vim.api.nvim_buf_clear_namespace(buffer, NAMESPACE, 0, -1)
    for _, hunk in ipairs(file.hunks) do
      mark(buffer, hunk)
      local row = math.min(unpack(vim.list_extend(vim.tbl_keys(hunk.removed), hunk.added)))
      items[#items + 1] = { bufnr = buffer, lnum = row, text = text.one_line(file.path, 200) }
    end
  end
  return items
end

local function clear()
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    vim.api.nvim_buf_clear_namespace(buffer, NAMESPACE, 0, -1)
  end
  open = nil
end

--- Lines above the first one are out of sight unless the window is told to show them.
local function show_above_first()
  local found = vim.api.nvim_buf_get_extmarks(0, NAMESPACE, 0, { 0, -1 }, { details = true })
  for _, one in ipairs(found) do
    if one[4].virt_lines_above then
      vim.fn.winrestview({ topline = 1, topfill = #one[4].virt_lines })
    end
  end
end

--- In a task: shows what the last turn changed.
---@param chat trimpoint.Chat
function M.show(chat)
  local found, refusal = session.request("checkpoint/diff", { threadId = chat.talk.id })
  if refusal then
    say.refusal(refusal, chat)
    return
  end
  clear()
  vim.cmd.checktime()
  local items = show(found.repository, diff.files(found.diff or ""))
  if #items == 0 then
    say.in_chat(chat, "The last turn changed no file that is still there.", "info")
    return
  end
  open = { chat = chat, turn = chat.talk.thread.turn_count }
  windows.leave_chat()
  vim.fn.setqflist({}, " ", { title = "trimpoint: what the last turn changed", items = items })
  vim.cmd.cfirst()
  show_above_first()
  say.info(":Trimpoint accept or reject; :cnext goes to the next change.")
end

--- Leaves the changes as they are.
function M.accept()
  say.info(open and "Accepted." or "Nothing is under review. :Trimpoint review")
  clear()
end

--- In a task: takes the changes back, with the turn that made them; a person is asked first.
function M.reject()
  if not open then
    say.info("Nothing is under review. :Trimpoint review")
  elseif open.turn ~= open.chat.talk.thread.turn_count then
    say.warning("Another turn has begun since: :Trimpoint revert lets you choose.")
  else
    local _, is_done = slash.run(open.chat, ("/revert %d"):format(open.turn - 1))
    if is_done then
      clear()
    end
  end
end

return M
