--- Opens files that the agent changed or named, at the line, in a window that is not the chat's.
local say = require("trimpoint.ui.say")
local text = require("trimpoint.model.text")
local windows = require("trimpoint.ui.windows")

local M = {}

--- Returns what a line of a history names: a change its place, any other the file under the cursor.
---@param chat trimpoint.Chat
---@param row integer from 0
---@return trimpoint.Place?
function M.at(chat, row)
  local block, index = chat.canvas:at(row)
  local changes = block and block.places
  if changes and #changes > 0 then
    local offset = row - chat.canvas.starts[index] - block.first_place
    return changes[math.min(math.max(1, offset + 1), #changes)]
  end
  local named = vim.fn.expand("<cfile>")
  local line = vim.fn.expand("<cWORD>"):match("[:#]L?(%d+)")
  return named ~= "" and { path = named, line = tonumber(line) or 1 } or nil
end

--- Returns the path of the file at a place; nil if there is none.
---@param chat trimpoint.Chat
---@param place trimpoint.Place?
---@return string?
function M.file(chat, place)
  if not place or place.path == "" then
    return nil
  end
  local is_whole = place.path:find("^[/~]") ~= nil
  local path = is_whole and place.path or vim.fs.joinpath(chat.talk.cwd, place.path)
  path = vim.fs.normalize(path, { expand_env = false })
  return vim.fn.filereadable(path) == 1 and path or nil
end

---@param chat trimpoint.Chat
---@param place trimpoint.Place?
function M.open(chat, place)
  local path = M.file(chat, place)
  if not place or not path then
    say.info(
      place and text.one_line(place.path, 200) .. " is no file here." or "No file is named here."
    )
    return
  end
  windows.leave_chat()
  local is_open, problem = pcall(vim.cmd.edit, { args = { path }, magic = { file = false } })
  if not is_open then
    say.warning(tostring(problem))
    return
  end
  local last = vim.api.nvim_buf_line_count(0)
  vim.api.nvim_win_set_cursor(0, { math.min(math.max(1, place.line), last), 0 })
  vim.cmd.normal({ "zvzz", bang = true })
end

return M
