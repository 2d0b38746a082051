--- Shows what is known of a chat in the buffer of its history.
local folds = require("trimpoint.ui.folds")
local markdown = require("trimpoint.ui.markdown")
local notices = require("trimpoint.ui.notices")
local session = require("trimpoint.client.session")

local M = {}

local HINT = {
  "This is Codex, and a context that you can cut: ask something below.",
  "<CR> in Normal mode sends, <C-s> in any.",
  "/ begins a command, such as /clear. g? lists the keys.",
}

---@param buffer integer
---@return integer[] windows whose cursor is at the end: they go along with what comes
local function following(buffer)
  local last = vim.api.nvim_buf_line_count(buffer)
  return vim.tbl_filter(function(window)
    return vim.api.nvim_win_get_cursor(window)[1] >= last
  end, vim.fn.win_findbuf(buffer))
end

---@param buffer integer
---@param windows integer[]
local function show_end(buffer, windows)
  local last = vim.api.nvim_buf_line_count(buffer)
  for _, window in ipairs(windows) do
    vim.api.nvim_win_call(window, function()
      vim.api.nvim_win_set_cursor(window, { last, 0 })
      vim.cmd.normal({ "zb", bang = true })
    end)
  end
end

--- Shows what is known now.
---@param chat trimpoint.Chat
---@param is_opening boolean it is not known yet which thread it shows
function M.draw(chat, is_opening)
  if session.is_held() then
    chat:draw_soon()
    return
  end
  local talk = chat.talk
  local windows = following(chat.buffer)
  local opened_folds
  local scene = {
    thread = talk.thread,
    live = talk.live,
    questions = talk.questions,
    notices = notices.of(talk, chat.said),
    hint = (is_opening or talk.id and not talk.thread) and { "Loading …" } or HINT,
  }
  local has_changed, folds_changed = chat.canvas:show(chat.builder:build(scene), function()
    opened_folds = folds.opened(chat.canvas)
  end)
  if has_changed then
    if folds_changed then
      folds.refresh(chat.canvas, opened_folds)
    end
    markdown.highlight(chat.canvas)
    show_end(chat.buffer, windows)
  end
  vim.cmd.redrawstatus({ bang = true })
end

return M
