-- A thread as lines: the same block for the same state, dividers above what was kept, folds for what left.
local blocks = require("trimpoint.model.blocks")
local rows = require("trimpoint.model.rows")
local live = require("trimpoint.model.live")

local function message(turn, id, role, words, trimmed)
  return { kind = "message", turnId = turn, id = id, role = role, text = words, trimmed = trimmed or false }
end
local divider = {
  kind = "contextTrimPointDivider", trimPointId = "p", label = "Earlier messages", hiddenMessageCount = 2,
  expanded = true, trimKind = "boundary", pinnedCount = 0,
}
local thread = {
  id = "t", cwd = "/w", requests = {}, queue = {}, revision = 0, links = {}, titles = {},
  turns = { a = { number = 1, status = "completed" }, b = { number = 2, status = "running", error = "no\nmodel" } },
  entries = {
    message("a", "1", "user", "one", true),
    message("a", "2", "assistant", "first", true),
    divider,
    message("b", "3", "user", "two\nlines"),
    {
      kind = "activity", activity = "commandExecution", turnId = "b", id = "4", trimmed = false,
      title = "/bin/bash -lc 'echo hi'", detail = { exitCode = 3, aggregatedOutput = "hi\nho\n" },
    },
  },
}
local scene = { thread = thread, live = live.new(), questions = {}, notices = {}, hint = { "nothing yet" } }
local builder = blocks.builder()
local function lines_of(list)
  local lines = {}
  for _, block in ipairs(list) do
    vim.list_extend(lines, block.lines)
  end
  return lines
end

local first = builder:build(scene)
local lines = lines_of(first)
for _, wanted in ipairs({ "❯ one", "first", "❯ two", "  lines", "$ echo hi", "  │ hi", }) do
  assert(vim.tbl_contains(lines, wanted), wanted)
end
for _, line in ipairs(lines) do
  assert(not line:find("\n"), "a line is one line")
end
assert(first[2].trimmed and first[3].trimmed and not first[4].trimmed and not first[5].trimmed)
assert(vim.deep_equal(first[4].lines, { "" }), "a divider is no text")
assert(rows.divider_words(divider) == "Earlier messages · 2 pruned")

local second = builder:build(scene)
for index, block in ipairs(second) do
  assert(block == first[index], "what has not changed is the same block")
end

live.note(scene.live, "item/started", { turnId = "b", item = { id = "5", type = "agentMessage", text = "" } })
live.note(scene.live, "item/agentMessage/delta", { itemId = "5", delta = "strea" })
live.note(scene.live, "item/agentMessage/delta", { itemId = "5", delta = "ming" })
local third = builder:build(scene)
assert(vim.tbl_contains(lines_of(third), "streaming"))
assert(third[2] == first[2])
live.note(scene.live, "item/completed", { turnId = "b", item = { id = "5", type = "agentMessage", text = "streaming" } })
live.note(scene.live, "turn/completed", {})
assert(#scene.live.items == 1, "what is finished stays until it is recorded")
assert(live.forget(scene.live, "5") and not live.forget(scene.live, "5"))

live.note(scene.live, "item/started", { turnId = "b", item = { id = "6", type = "agentMessage", text = "half" } })
live.note(scene.live, "turn/completed", {})
thread.turns.b.status, thread.revision = "failed", thread.revision + 1
thread.turns.c, thread.turn_count = { number = 3, status = "running" }, 3
live.note(scene.live, "item/started", { turnId = "c", item = { id = "7", type = "agentMessage", text = "newer" } })
lines = lines_of(builder:build(scene))
assert(vim.tbl_contains(lines, "newer") and vim.tbl_contains(lines, "✗ The turn failed: no model") and not vim.tbl_contains(lines, "half"), "what an ended turn said is in its history")
live.forget(scene.live, "7")
thread.turns.c = nil

thread.entries[4].trimmed = true
thread.revision = thread.revision + 1
assert(builder:build(scene)[5].trimmed and not first[5].trimmed, "what changed is made anew")

local long = { kind = "activity", activity = "commandExecution", turnId = "b", id = "8", title = "x", detail = { command = "/bin/bash -lc 'one\ntwo\nthree'", aggregatedOutput = "out\n" } }
assert(vim.deep_equal(rows.activity(long, false).lines, { "$ one … (3 lines)", "  │ one", "  │ two", "  │ three", "  │ out" }), vim.inspect(rows.activity(long, false).lines))
assert(rows.end_words({ status = "failed", error = '{"error":{"message":"no money"}}' }) == "✗ The turn failed: no money")

thread.links = { { words = "From ", id = "p" }, { words = "Handed off to ", id = "h", goal = "write tests" }, { words = "Handed off to ", id = "gone" } }
thread.titles, thread.revision = { p = "the plan", h = "I begin." }, thread.revision + 1
local linked = builder:build(scene)
assert(vim.deep_equal(vim.list_slice(lines_of(linked), 2, 4), { "From the plan", "Handed off to write tests", "Handed off to another thread" }))
assert(linked[2].act == "thread" and linked[2].thread_id == "p" and linked[5].thread_id == nil, "<CR> opens it")
