-- Draws each line of a file, an entry or an item as JSON, in a chat's buffer; prints what went wrong.
local blocks = require("trimpoint.model.blocks")
local folds = require("trimpoint.ui.folds")
local live = require("trimpoint.model.live")
local markdown = require("trimpoint.ui.markdown")
local questions = require("trimpoint.model.questions")
local render = require("trimpoint.ui.render")
local rows = require("trimpoint.model.rows")

local QUIET = "a quiet answer"
local buffer = vim.api.nvim_create_buf(false, true)
vim.api.nvim_win_set_buf(0, buffer)
local canvas = render.new(buffer)
folds.register(canvas)
folds.set(0, canvas)

local function quiet(id)
  return { kind = "message", turnId = "t1", id = id, role = "assistant", text = QUIET, trimmed = false }
end

local function draw(entries, followed, asked)
  local thread = {
    id = "t", cwd = "/w", requests = {}, queue = {}, revision = 0, entries = entries,
    turns = { t1 = { number = 1, status = "completed" } },
  }
  local scene = { thread = thread, live = followed, questions = asked, notices = {}, hint = {} }
  canvas:show(blocks.builder():build(scene), function() end)
  markdown.highlight(canvas)
  return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n")
end

local function check(line)
  local given = vim.json.decode(line, { luanil = { object = true, array = true } })
  local entries, followed, asked = { quiet("before"), quiet("after") }, live.new(), {}
  if given.entry then
    table.insert(entries, 2, given.entry)
  else
    live.note(followed, "item/started", { turnId = "t1", item = given.item })
    live.note(followed, "item/agentMessage/delta", { itemId = "i", delta = given.delta })
    live.note(followed, "item/commandExecution/outputDelta", { itemId = "i", delta = given.delta })
    live.note(followed, "error", { error = given.delta, willRetry = true })
    live.take(followed, { { turnId = "t1", item = given.item } })
    asked[1] = {
      id = 1, method = "item/fileChange/requestApproval", params = { reason = given.delta }, item = given.item,
    }
    questions.choices(asked[1])
  end
  local shown = draw(entries, followed, asked)
  assert(select(2, shown:gsub(QUIET, "")) >= 2, "the rows beside it are not drawn")
  assert(not shown:find("This cannot be shown", 1, true), shown)
  for _, hidden in ipairs({ "%z", "\27", "\7", "\226\128\174" }) do
    assert(not shown:find(hidden), "a character is not made visible")
  end
end

local faults = {}
for line in io.lines(_G.arg[1]) do
  local is_fine, fault = pcall(check, line)
  if not is_fine and #faults < 10 then
    faults[#faults + 1] = line .. "\n" .. fault
  end
end

rows.answer = function()
  error("it broke")
end
local broken = draw({ { kind = "message", role = "user", turnId = "t1", id = "p", text = QUIET }, quiet("b") }, live.new(), {})
assert(broken:find(QUIET, 1, true) and broken:find("This cannot be shown", 1, true), broken)
io.write(table.concat(faults, "\n\n"))
