--- The colours, each a link that a colour scheme or a person may set.
local M = {}

local LINKS = {
  TrimpointTitle = "Title",
  TrimpointPrompt = "Statement",
  TrimpointQuiet = "Comment",
  TrimpointActivity = "Special",
  TrimpointOutput = "Comment",
  TrimpointPruned = "NonText",
  TrimpointDivider = "Constant",
  TrimpointSummary = "Normal",
  TrimpointQuestion = "Question",
  TrimpointAdded = "Added",
  TrimpointRemoved = "Removed",
  TrimpointOk = "DiagnosticOk",
  TrimpointWarning = "DiagnosticWarn",
  TrimpointCritical = "DiagnosticError",
}

--- Defines groups that are not defined yet.
function M.define()
  for name, target in pairs(LINKS) do
    vim.api.nvim_set_hl(0, name, { link = target, default = true })
  end
end

vim.api.nvim_create_autocmd("ColorScheme", {
  group = vim.api.nvim_create_augroup("trimpoint.highlights", {}),
  callback = M.define,
})

return M
