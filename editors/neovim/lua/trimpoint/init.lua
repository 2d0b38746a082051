--- trimpoint in Neovim: what a configuration calls. Nothing here has to be called.
local M = {}

--- Takes settings; `vim.g.trimpoint` does the same without a call. See |trimpoint-settings|.
---@param settings table?
function M.setup(settings)
  for _, problem in ipairs(require("trimpoint.config").set(settings)) do
    vim.notify("trimpoint: " .. problem, vim.log.levels.WARN)
  end
end

--- Returns a component for a statusline, from what is known: it asks nothing, and loads nothing
--- before a chat is open.
---@return string
function M.statusline()
  if not package.loaded["trimpoint.ui.chat"] then
    return ""
  end
  return require("trimpoint.ui.bar").statusline()
end

return M
