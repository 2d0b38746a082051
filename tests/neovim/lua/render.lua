-- Only what changed is written, and folds that a person opened stay open.
local folds = require("trimpoint.ui.folds")
local render = require("trimpoint.ui.render")

local buffer = vim.api.nvim_create_buf(false, true)
vim.api.nvim_win_set_buf(0, buffer)
local canvas = render.new(buffer)
folds.register(canvas)

local function block(key, lines, trimmed, folded)
  return { key = key, lines = lines, marks = {}, folded = folded or {}, trimmed = trimmed or false }
end
local function show(list)
  local opened
  local _, has_moved = canvas:show(list, function()
    opened = folds.opened(canvas)
  end)
  if has_moved then
    folds.refresh(canvas, opened)
  end
  return vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
end

local head = block("head", { "title" })
local one = block("one", { "", "one" })
local output = block("output", { "$ ls", "a", "b", "c" }, false, { true, true, true })
local written = {}
vim.api.nvim_buf_attach(buffer, false, {
  on_lines = function(_, _, _, first, last)
    written[#written + 1] = { first, last }
  end,
})
assert(vim.deep_equal(show({ head, one, output }), { "title", "", "one", "$ ls", "a", "b", "c" }))
folds.set(vim.api.nvim_get_current_win(), canvas)
assert(vim.fn.foldclosed(5) == 5 and vim.fn.foldclosedend(5) == 7, "output is a closed fold")
assert(vim.fn.foldtextresult(5) ~= "")

vim.cmd.foldopen({ range = { 5 } })
written = {}
local longer = block("output", { "$ ls", "a", "b", "c", "d" }, false, { true, true, true, true })
show({ head, one, longer })
assert(vim.deep_equal(written, { { 7, 7 } }), vim.inspect(written))
assert(vim.fn.foldclosed(5) == -1, "a fold that was opened stays open while it grows")

local gone, gone_output = block("one", { "", "one" }, true), block("output", output.lines, true, output.folded)
show({ head, gone, gone_output, block("two", { "", "two" }) })
assert(vim.fn.foldclosed(2) == 2 and vim.fn.foldclosedend(2) == 7, "what left the context is one closed fold")
show({ head, one, output, block("two", { "", "two" }) })
assert(vim.fn.foldclosed(2) == -1, "what came back is not")
assert(vim.deep_equal(show({}), { "" }))
