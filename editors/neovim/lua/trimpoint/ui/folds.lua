--- Folds of a chat: what left the agent's context, the output of tools, the text of summaries.
---
--- They are made by hand, because Neovim computes no others while a person types in Insert mode,
--- and a prompt is typed while answers come.
local text = require("trimpoint.model.text")

local M = {}

---@type table<integer, trimpoint.Canvas>
local canvases = setmetatable({}, { __mode = "v" })

---@param canvas trimpoint.Canvas
function M.register(canvas)
  canvases[canvas.buffer] = canvas
end

--- What a closed fold of a pruned section says: how much it is, and how it begins.
---@param canvas trimpoint.Canvas
---@param first integer
---@param last integer
---@return string
local function pruned_words(canvas, first, last)
  local _, index = canvas:at(first - 1)
  local turns, seen, prompt = 0, {}, nil
  while canvas.blocks[index] and canvas.starts[index] < last do
    local block = canvas.blocks[index]
    if block.turn_id and not seen[block.turn_id] then
      seen[block.turn_id], turns = true, turns + 1
      prompt = prompt or vim.trim((block.lines[2] or block.lines[1]):gsub("^❯ ", ""))
    end
    index = index + 1
  end
  return ("┊ ▸ %s: %s"):format(text.counted(turns, "turn"), prompt or "")
end

--- For 'foldtext': pieces with their highlight groups, never text to be evaluated.
---@return { [1]: string, [2]: string }[]
function M.text()
  local canvas = canvases[vim.api.nvim_get_current_buf()]
  if not canvas then
    return { { "…", "Folded" } }
  end
  local first, last = vim.v.foldstart, vim.v.foldend
  local block, index = canvas:at(first - 1)
  if block and block.fold_words and block.folded[first - 1 - canvas.starts[index]] then
    return { { block.fold_words, block.trimmed and "TrimpointPruned" or "TrimpointOutput" } }
  end
  return { { pruned_words(canvas, first, last), "TrimpointPruned" } }
end

---@param window integer
---@param act fun()
local function within(window, act)
  vim.api.nvim_win_call(window, act)
end

--- Returns the folds that a person has opened, by window: to be asked for before the lines change.
---@param canvas trimpoint.Canvas
---@return table<integer, table<string, boolean>>
function M.opened(canvas)
  local opened = {}
  for _, window in ipairs(vim.fn.win_findbuf(canvas.buffer)) do
    opened[window] = {}
    within(window, function()
      for _, fold in ipairs(canvas.folds) do
        opened[window][fold.key] = vim.fn.foldclosed(fold.first) == -1
      end
    end)
  end
  return opened
end

---@param canvas trimpoint.Canvas
---@param opened table<string, boolean>
local function make(canvas, opened)
  local view = vim.fn.winsaveview()
  vim.cmd.normal({ "zE", bang = true })
  for _, fold in ipairs(canvas.folds) do
    vim.cmd.fold({ range = { fold.first, fold.last } })
    -- At once: when it is within another fold, that would be opened in its place.
    if opened[fold.key] then
      vim.cmd.foldopen({ range = { fold.first } })
    end
  end
  vim.fn.winrestview(view)
end

--- Folds anew in all windows of a chat.
---@param canvas trimpoint.Canvas
---@param opened table<integer, table<string, boolean>>
function M.refresh(canvas, opened)
  for _, window in ipairs(vim.fn.win_findbuf(canvas.buffer)) do
    within(window, function()
      make(canvas, opened[window] or {})
    end)
  end
end

--- Makes a window fold as a chat does.
---@param window integer
---@param canvas trimpoint.Canvas
function M.set(window, canvas)
  local options = {
    foldmethod = "manual",
    foldtext = "v:lua.require'trimpoint.ui.folds'.text()",
    foldlevel = 0,
    foldminlines = 1,
    foldenable = true,
    foldcolumn = "0",
    fillchars = "fold: ,eob: ",
  }
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { scope = "local", win = window })
  end
  within(window, function()
    make(canvas, {})
  end)
end

return M
