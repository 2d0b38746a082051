--- Pages to read: what the context holds, what differs in the files. Each is a buffer that `q`
--- closes.
local meter = require("trimpoint.model.meter")
local text = require("trimpoint.model.text")
local windows = require("trimpoint.ui.windows")

local M = {}

local NAMESPACE = vim.api.nvim_create_namespace("trimpoint.page")

---@class trimpoint.Line
---@field words string
---@field group? string

---@param name string
---@return integer
local function buffer_named(name)
  local known = vim.fn.bufnr("^" .. vim.fn.escape(name, "[]*?^$\\.") .. "$")
  if known ~= -1 then
    return known
  end
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buffer, name)
  vim.bo[buffer].bufhidden = "wipe"
  vim.bo[buffer].modeline = false
  vim.keymap.set("n", "q", windows.close_page, { buffer = buffer, desc = "Close" })
  return buffer
end

--- Shows a page in a window below, or in that which shows it already.
---@param name string
---@param lines trimpoint.Line[]
---@param filetype string?
---@return integer buffer
function M.show(name, lines, filetype)
  local buffer = buffer_named("trimpoint://" .. name)
  local words = vim.tbl_map(function(line)
    return (line.words:gsub("\n", " "))
  end, lines)
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, words)
  vim.bo[buffer].modifiable = false
  vim.api.nvim_buf_clear_namespace(buffer, NAMESPACE, 0, -1)
  for row, line in ipairs(lines) do
    if line.group then
      local options = { end_col = #words[row], hl_group = line.group }
      vim.api.nvim_buf_set_extmark(buffer, NAMESPACE, row - 1, 0, options)
    end
  end
  local window = vim.fn.bufwinid(buffer)
  if window == -1 then
    windows.open_below(buffer)
  else
    vim.api.nvim_set_current_win(window)
  end
  -- Columns are cut, what is to be read is not.
  local is_prose = filetype == "trimpoint_text"
  vim.wo.wrap, vim.wo.linebreak, vim.wo.breakindent = is_prose, is_prose, is_prose
  vim.bo[buffer].filetype = filetype or "trimpoint_page"
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  return buffer
end

---@param found table of `checkpoint/diff`
---@return trimpoint.Line[]
function M.diff_lines(found)
  local head = ("%s → %s: %s, +%d −%d"):format(
    text.one_line(found.older.label, 80),
    text.one_line(found.newer.label, 80),
    text.counted(found.changed.files, "file"),
    found.changed.additions,
    found.changed.deletions
  )
  local lines = { { words = head } }
  for _, side in ipairs({ found.older, found.newer }) do
    for _, note in ipairs(side.notes or {}) do
      lines[#lines + 1] = { words = "Not compared: " .. text.one_line(note, 200) }
    end
  end
  for _, line in ipairs(found.diff and found.diff ~= "" and text.lines(found.diff) or {}) do
    lines[#lines + 1] = { words = line }
  end
  if found.truncated then
    lines[#lines + 1] = { words = "… the diff is cut here" }
  end
  return lines
end

---@param item table of `context/inspect`
---@return trimpoint.Line
local function item_line(item)
  local share = item.share and ("%4.1f%%"):format(item.share * 100) or "     "
  local state = item.pinned and "pinned" or item.protected and "kept" or ""
  local words = ("%9s %s  %-12s %-7s %s"):format(
    text.thousands(item.estTokens),
    share,
    text.one_line(item.class, 12),
    state,
    text.one_line(item.preview, 300)
  )
  return { words = words, group = item.turnId and "Normal" or "TrimpointQuiet" }
end

--- Returns the page of `context/inspect`, with the daemon's advice.
---@param found table
---@param status table of `context/status`
---@param advice table[]
---@return trimpoint.Line[]
function M.context_lines(found, status, advice)
  local lines = { { words = "Context: " .. meter.long(status), group = meter.group(status) } }
  for _, note in ipairs({ found.note or "", vim.tbl_get(status, "auto", "message") or "" }) do
    if note ~= "" then
      lines[#lines + 1] = { words = text.one_line(note, 500), group = "TrimpointQuiet" }
    end
  end
  for _, one in ipairs(advice) do
    local words = ("%s  %s"):format(text.one_line(one.command, 80), text.one_line(one.text, 300))
    lines[#lines + 1] = { words = words, group = "TrimpointWarning" }
  end
  lines[#lines + 1] = { words = "" }
  for _, item in ipairs(found.items) do
    lines[#lines + 1] = item_line(item)
  end
  return lines
end

return M
