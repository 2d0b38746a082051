std = "luajit"
read_globals = { "vim" }
globals = { "vim.b", "vim.bo", "vim.g", "vim.go", "vim.opt", "vim.wo" }
max_line_length = 100
-- A method says what it belongs to also where it does not need it.
self = false
