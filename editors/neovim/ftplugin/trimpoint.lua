-- The history of a chat.
if vim.b.did_ftplugin then
  return
end
vim.b.did_ftplugin = true
require("trimpoint.ui.keys").map(vim.api.nvim_get_current_buf())
