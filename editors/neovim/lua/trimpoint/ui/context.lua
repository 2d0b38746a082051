--- Text of the editor that is sent with a prompt, with its place.
local M = {}

--- Returns lines of a buffer with their place, as they are sent to the agent.
---@param buffer integer
---@param first integer from 1
---@param last integer
---@return string
function M.quoted(buffer, first, last)
  local lines = vim.api.nvim_buf_get_lines(buffer, first - 1, last, false)
  local name = vim.api.nvim_buf_get_name(buffer)
  local place = name ~= "" and vim.fn.fnamemodify(name, ":.") or "a buffer without a name"
  local words = table.concat(lines, "\n")
  local fence = "```"
  while words:find(fence, 1, true) do
    fence = fence .. "`"
  end
  local kind = vim.bo[buffer].filetype
  return ("%s, lines %d to %d:\n%s%s\n%s\n%s"):format(place, first, last, fence, kind, words, fence)
end

---@return integer? buffer the file that was edited last
local function edited()
  local found, newest
  for _, info in ipairs(vim.fn.getbufinfo({ buflisted = 1 })) do
    if vim.bo[info.bufnr].buftype == "" and (not newest or info.lastused >= newest) then
      found, newest = info.bufnr, info.lastused
    end
  end
  return found
end

--- Returns a prompt as it is sent: the text of the buffer follows where `#buffer` stands in it.
---@param words string
---@return string
function M.expanded(words)
  local buffer = (" " .. words .. " "):find("%s#buffer[%s%p]") and edited()
  if not buffer then
    return words
  end
  return words .. "\n\n" .. M.quoted(buffer, 1, vim.api.nvim_buf_line_count(buffer))
end

return M
