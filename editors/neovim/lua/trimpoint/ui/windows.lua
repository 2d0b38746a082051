--- Where a chat is shown: its history, and a prompt below it.
local config = require("trimpoint.config")

local M = {}

---@type table<string, fun(settings: trimpoint.Config)>
local LAYOUTS = {
  right = function(settings)
    vim.cmd(("botright %dvsplit"):format(math.min(settings.width, math.floor(vim.o.columns * 0.6))))
  end,
  left = function(settings)
    vim.cmd(("topleft %dvsplit"):format(math.min(settings.width, math.floor(vim.o.columns * 0.6))))
  end,
  below = function(settings)
    vim.cmd(("botright %dsplit"):format(math.min(settings.height, math.floor(vim.o.lines * 0.7))))
  end,
  tab = function()
    vim.cmd("tab split")
  end,
  current = function() end,
}

---@param window integer
---@param options table<string, any>
local function set(window, options)
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { scope = "local", win = window })
  end
end

local PLAIN = {
  number = false,
  relativenumber = false,
  signcolumn = "no",
  list = false,
  spell = false,
  wrap = true,
  linebreak = true,
  breakindent = true,
  cursorcolumn = false,
  colorcolumn = "",
  statuscolumn = "",
}

--- Returns the window of this tab that shows a buffer.
---@param buffer integer
---@return integer?
function M.showing(buffer)
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if vim.api.nvim_win_get_buf(window) == buffer then
      return window
    end
  end
  return nil
end

--- Shows the history, where the layout says; returns its window.
---@param buffer integer
---@return integer
function M.open_history(buffer)
  local settings = config.get()
  LAYOUTS[settings.layout](settings)
  local window = vim.api.nvim_get_current_win()
  vim.api.nvim_win_set_buf(window, buffer)
  return window
end

--- Makes a window look as a history does.
---@param window integer
function M.dress_history(window)
  set(window, PLAIN)
  set(window, { conceallevel = 2, concealcursor = "nc", cursorline = false })
end

--- Shows the prompt below the history; returns its window.
---@param history integer the window
---@param buffer integer
---@return integer
function M.open_prompt(history, buffer)
  vim.api.nvim_set_current_win(history)
  vim.cmd(("belowright %dsplit"):format(config.get().prompt_height))
  local window = vim.api.nvim_get_current_win()
  vim.api.nvim_win_set_buf(window, buffer)
  set(window, PLAIN)
  set(window, { winfixheight = true, cursorline = false, foldenable = false, winbar = "" })
  return window
end

return M
