-- Defines what is there to be called. Nothing else is loaded until it is.
if vim.g.loaded_trimpoint then
  return
end
vim.g.loaded_trimpoint = true

if vim.fn.has("nvim-0.10") == 0 then
  vim.api.nvim_create_user_command("Trimpoint", function()
    vim.api.nvim_err_writeln("trimpoint needs Neovim 0.10 or newer; this one is older.")
  end, { nargs = "*", range = true, bang = true })
  return
end

vim.api.nvim_create_user_command("Trimpoint", function(options)
  require("trimpoint.ui.command").run(options)
end, {
  nargs = "*",
  range = true,
  bang = true,
  desc = "Talk to the agent, and clear, compact or revert the conversation",
  complete = function(lead, line)
    return require("trimpoint.ui.command").complete(lead, line)
  end,
})

vim.keymap.set("n", "<Plug>(trimpoint-chat)", "<Cmd>Trimpoint chat<CR>", { desc = "Open the chat" })
vim.keymap.set(
  "x",
  "<Plug>(trimpoint-ask)",
  ":Trimpoint ask<CR>",
  { silent = true, desc = "Ask about the selection" }
)
vim.keymap.set(
  "n",
  "<Plug>(trimpoint-interrupt)",
  "<Cmd>Trimpoint interrupt<CR>",
  { desc = "Interrupt the turn" }
)
