--- 'omnifunc' of a prompt.
local commands = require("trimpoint.completion.commands")
local places = require("trimpoint.completion.places")

local M = {}

---@param typed string
---@param known trimpoint.Command[]
---@return table[]
local function items_of(typed, known)
  local sign = typed:sub(1, 1)
  return vim.tbl_map(function(command)
    local info = ("%s\n\n%s"):format(command.usage, command.details)
    return { word = sign .. command.name, menu = command.summary, info = info, icase = 1 }
  end, known)
end

---@param find_start integer 1: where does the word begin; 0: what can it become
---@param base string
---@return integer|table
function M.complete(find_start, base)
  if find_start == 1 then
    local before = vim.api.nvim_get_current_line():sub(1, vim.api.nvim_win_get_cursor(0)[2])
    local is_command = vim.api.nvim_win_get_cursor(0)[1] == 1 and before:match("^[/:]%a*$") ~= nil
    local _, column = places.typed_in(before)
    return is_command and 0 or column or -3
  elseif base:find("^[@#]") then
    return places.now(base)
  end
  return items_of(base, commands.now(base))
end

--- In a task: returns the items of a menu.
---@param typed string
---@return table[]
function M.items(typed)
  return items_of(typed, commands.of(typed))
end

return M
