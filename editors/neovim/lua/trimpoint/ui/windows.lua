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

--- Returns a buffer for what others write: it sets no options of the editor.
---@param name string
---@param filetype string
---@return integer
function M.scratch(name, filetype)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = "hide"
  vim.bo[buffer].swapfile = false
  vim.bo[buffer].modeline = false
  vim.bo[buffer].undolevels = -1
  pcall(vim.api.nvim_buf_set_name, buffer, name)
  vim.api.nvim_buf_call(buffer, function()
    vim.bo[buffer].filetype = filetype
  end)
  return buffer
end

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

--- Returns whether this tab shows the last line of a buffer.
---@param buffer integer
---@return boolean
function M.shows_end_of(buffer)
  local window = M.showing(buffer)
  return window ~= nil and vim.fn.line("w$", window) == vim.api.nvim_buf_line_count(buffer)
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

local PAGE_SHARE = 0.4

---@type table<integer, { before: integer, heights: table<integer, integer> }> of a page: where the
---person was, and the windows that have a height of their own
local pages = {}

---@param heights table<integer, integer>
local function give_back(heights)
  for window, height in pairs(heights) do
    if vim.api.nvim_win_is_valid(window) then
      vim.api.nvim_win_set_height(window, height)
    end
  end
end

---@param window integer
local function go_to(window)
  if vim.api.nvim_win_is_valid(window) then
    vim.api.nvim_set_current_win(window)
  end
end

--- Shows a buffer in a window of its own below the others; when it is closed, the person is where
--- they were, and the windows that have a height of their own have it again.
---@param buffer integer
function M.open_below(buffer)
  local heights, before = {}, vim.api.nvim_get_current_win()
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    heights[window] = vim.wo[window].winfixheight and vim.api.nvim_win_get_height(window) or nil
  end
  vim.cmd(("botright %dsplit"):format(math.floor(vim.o.lines * PAGE_SHARE)))
  vim.api.nvim_win_set_buf(0, buffer)
  vim.wo.winfixheight = false
  local page = vim.api.nvim_get_current_win()
  pages[page] = { before = before, heights = heights }
  vim.api.nvim_create_autocmd("WinClosed", {
    pattern = tostring(page),
    once = true,
    callback = function()
      if not pages[page] then
        return -- It was closed by its key.
      end
      pages[page] = nil
      local was_current = vim.api.nvim_get_current_win() == page
      vim.schedule(function()
        give_back(heights)
        -- Unless a chat was gone to meanwhile.
        if was_current and not vim.bo.filetype:find("^trimpoint") then
          go_to(before)
        end
      end)
    end,
  })
end

--- Closes the page in this window, and goes back at once, before another key is taken.
function M.close_page()
  local page = vim.api.nvim_get_current_win()
  local known = pages[page]
  pages[page] = nil
  if known then
    go_to(known.before)
  end
  pcall(vim.api.nvim_win_close, page, false)
  give_back(known and known.heights or {})
end

--- Goes to a window of this tab that shows a file; one is made if there is none.
function M.leave_chat()
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if vim.bo[vim.api.nvim_win_get_buf(window)].buftype == "" then
      vim.api.nvim_set_current_win(window)
      return
    end
  end
  vim.cmd("topleft vnew")
end

--- Shows the prompt below the history; returns its window.
---@param history integer the window
---@param buffer integer
---@return integer
function M.open_prompt(history, buffer)
  vim.api.nvim_set_current_win(history)
  -- One line more, for the line above it.
  vim.cmd(("belowright %dsplit"):format(config.get().prompt_height + 1))
  local window = vim.api.nvim_get_current_win()
  vim.api.nvim_win_set_buf(window, buffer)
  set(window, PLAIN)
  set(window, { winfixheight = true, cursorline = false, foldenable = false })
  set(window, { winbar = "%{%v:lua.require'trimpoint.ui.bar'.prompt()%}" })
  return window
end

return M
