-- A prompt stays where it was typed until it is acknowledged, and goes without what was typed behind it.
local draft = require("trimpoint.model.draft")

local function sending(...)
  return vim.tbl_map(function(text)
    return { id = text, text = text }
  end, { ... })
end

assert(draft.unsent("  one\ntwo ", {}) == "one\ntwo")
assert(draft.unsent("one\ntwo", sending("one")) == "two")
assert(draft.unsent("one two", sending("one", "two")) == "")
assert(draft.unsent("other", sending("one")) == "other", "a text that was not typed there takes nothing")
assert(draft.length_of("\n one \n two", "one") == 8)
assert(draft.length_of("one", "one") == 3)
assert(draft.length_of("on", "one") == nil)
assert(draft.length_of("", "one") == nil)
assert(draft.length_of("one", "") == nil)

assert(draft.whole({ text = "one\ntwo", sending = sending("one") }) == "one\ntwo")
assert(draft.whole({ text = "two", sending = sending("a", "b") }) == "a\nb\ntwo", "what was on its way comes back")
