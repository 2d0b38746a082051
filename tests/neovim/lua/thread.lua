-- A thread is what the snapshot says, kept up to date by events; each event counts once.
local threads = require("trimpoint.model.thread")

local function snapshot()
  return {
    id = "t", cwd = "/w", archived = false, sequence = 10, pendingRequests = {},
    turns = { { id = "a", status = "completed" } },
  }
end

local thread = threads.new(snapshot())
local function apply(sequence, kind, payload)
  local envelope = { sequence = sequence, type = kind, payload = payload, occurredAt = "now" }
  return threads.apply(thread, envelope)
end

assert(not threads.is_busy(thread))
assert(not apply(10, "thread.renamed", { name = "old" }), "what is known already changes nothing")
assert(thread.name == nil)
apply(11, "thread.turn-requested", { requestId = "r" })
assert(threads.is_busy(thread), "busy from the request on")
apply(12, "thread.turn-started", { turnId = "b" })
apply(13, "thread.turn-request-ended", { requestId = "r" })
assert(vim.deep_equal(threads.running(thread), { "b" }))
assert(thread.turns.b.number == 2)
apply(14, "thread.turn-completed", { turnId = "b", status = "completed" })
assert(not threads.is_busy(thread))

local function record(sequence, turn, id)
  apply(sequence, "thread.entry-recorded", { turnId = turn, entryId = id, kind = "message", role = "user", text = id })
end
record(15, "a", "a1")
record(16, "b", "b1")
record(17, "a", "a2")
record(18, "b", "b2")
record(19, "b", "b1")
local order = vim.tbl_map(function(entry)
  return entry.id
end, thread.entries)
assert(vim.deep_equal(order, { "a1", "a2", "b1", "b2" }), "a late entry belongs to its turn")

apply(20, "thread.entry-recorded", { turnId = "b", entryId = "b1", kind = "message", role = "assistant", text = "whole", extent = "rest" })
assert(#thread.entries == 4 and thread.entries[3].text == "whole", "a whole answer takes the place of its part")
apply(21, "thread.entry-recorded", { turnId = "b", entryId = "b0", kind = "message", role = "assistant", text = "whole", extent = "rest" })
assert(#thread.entries == 4, "an answer whose part is not loaded comes with its page")

for _, kind in ipairs({ "trim-point-created", "context-summarized", "trim-undone", "reverted", "context-discarded", "context-masked" }) do
  local is_new, must_reload = apply(thread.sequence + 1, "thread." .. kind, {})
  assert(is_new and must_reload, kind)
end
local is_new, must_reload = apply(thread.sequence + 1, "thread.something-of-later", {})
assert(is_new and not must_reload, "an event that is not known is passed over")

apply(40, "thread.operation-started", { operationId = "o", kind = "clear" })
assert(threads.operation(thread).kind == "clear")
apply(41, "thread.operation-advanced", { operationId = "o", phase = "starting", message = "Starting." })
apply(42, "thread.operation-advanced", { operationId = "o", phase = "ready", message = "" })
assert(threads.operation(thread) == nil and not threads.is_busy(thread))

threads.add_older(thread, {
  entries = { { kind = "message", id = "a0", turnId = "a" }, { kind = "message", id = "a1", turnId = "a" } },
  nextCursor = "more",
})
assert(thread.entries[1].id == "a0" and #thread.entries == 5, "what is loaded already comes once")
assert(thread.cursor == "more")

local function queued()
  return table.concat(vim.tbl_map(function(prompt)
    return threads.queued_text(prompt)
  end, thread.queue), " ")
end
local function text(words)
  return { { type = "text", text = words } }
end
for number, words in ipairs({ "one", "two", "three" }) do
  apply(50 + number, "thread.prompt-queued", { promptId = words, input = text(words) })
end
assert(queued() == "one two three")
apply(54, "thread.queue-held", { reason = "failed", message = "it broke" })
apply(55, "thread.prompts-reordered", { promptIds = { "three", "gone" } })
assert(queued() == "three one two")
apply(56, "thread.prompt-edited", { promptId = "one", input = { { type = "image" }, { type = "text", text = "ONE" } } })
apply(57, "thread.prompt-sent", { promptId = "three", turnId = "x" })
apply(58, "thread.prompt-withdrawn", { promptId = "two" })
assert(queued() == "ONE" and thread.queue_hold.reason == "failed")
apply(59, "thread.queue-released", {})
assert(thread.queue_hold == nil)
