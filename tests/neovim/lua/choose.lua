-- A choice is taken only if it was made on purpose, and a picker that fails ends nothing else.
local choose = require("trimpoint.ui.choose")
local task = require("trimpoint.task")

local clock = 0
choose.now = function()
  return clock
end

local function chosen_after(milliseconds)
  local got = {}
  vim.ui.select = function(items, _, resume)
    clock = clock + milliseconds
    resume(items[1])
  end
  task.run(function()
    got.chosen, got.problem = choose.deliberately({ "yes" }, {})
    got.is_over = true
  end)
  vim.wait(1000, function()
    return got.is_over
  end)
  return got
end

assert(chosen_after(100).chosen == nil)
assert(chosen_after(100).problem:find("too soon"))
assert(chosen_after(800).chosen == "yes")

for _ = 1, 2 do
  local problem
  vim.ui.select = function()
    error("this picker is broken")
  end
  task.run(function()
    problem = select(2, choose.from({ "yes" }, {}))
  end)
  vim.wait(1000, function()
    return problem
  end)
  assert(problem:find("this picker is broken"))
end

-- The key that closed a list does nothing else as long as it is held.
local pressed = 0
vim.keymap.set("n", "<CR>", function()
  pressed = pressed + 1
end)
local function press(after_ms)
  clock = clock + after_ms
  vim.api.nvim_feedkeys(vim.keycode("<CR>"), "tx", false)
  return pressed
end

assert(press(2000) == 1)
vim.ui.select = function(items, _, resume)
  resume(items[1])
end
task.run(function()
  choose.from({ "yes" }, {})
end)
assert(press(600) == 1, "the first repeat of a held key")
assert(press(30) == 1, "the next ones")
assert(press(30) == 1)
assert(press(200) == 2, "the key was let go, and pressed again")
assert(press(30) == 3, "what closed no list is not held back")
