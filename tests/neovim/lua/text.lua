-- Text of others cannot do anything but be read.
local text = require("trimpoint.model.text")
local utf8 = require("trimpoint.rpc.utf8")

local shown = text.printable("a\27[31mred\27[0m\27]52;c;x\7\0\8 \226\128\174evil\194\155 \226\129\166x\r\ny")
for _, byte in ipairs({ "\27", "\7", "\0", "\8", "\r", "\226\128\174", "\194\155", "\226\129\166" }) do
  assert(not shown:find(byte, 1, true), ("left in: %q"):format(byte))
end
assert(shown:find("ared", 1, true) and shown:find("\ny", 1, true))
local family = "\240\159\145\169\226\128\141\240\159\145\167"
assert(text.printable(family) == family, "an emoji is not torn")
assert(text.printable("grüß 日本") == "grüß 日本")

assert(text.one_line("a\n b\tc  ", 10) == "a b c")
assert(text.one_line("日本語日本語", 4) == "日本語…", "cut by characters")
assert(text.for_statusline("100%{evil()}") == "100%%{evil()}")
assert(text.thousands(0) == "0" and text.thousands(999) == "999" and text.thousands(258400) == "258,400")
assert(text.thousands(1234567) == "1,234,567")
assert(text.counted(1, "turn") == "1 turn" and text.counted(2, "turn") == "2 turns")
assert(vim.deep_equal(text.lines("a\nb\n\n"), { "a", "b" }))

local R = "\239\191\189"
assert(utf8.repaired("plain") == "plain")
assert(utf8.repaired("\xff") == R)
assert(utf8.repaired("a\xc3") == "a" .. R, "cut off at the end")
assert(utf8.repaired("\xed\xa0\x80") == R .. R .. R, "a surrogate")
assert(utf8.repaired("\xc0\xaf") == R .. R, "an overlong form")
assert(utf8.repaired("\xf4\x90\x80\x80") == R .. R .. R .. R, "beyond Unicode")
assert(utf8.repaired("ok é 日 \240\159\145\169") == "ok é 日 \240\159\145\169")

assert(text.words_of_error("no model") == "no model")
assert(text.words_of_error('400: {"error":{"message":"too large"}}') == "400: too large")
assert(text.words_of_error('{"message":"no\\nmore"}') == "no\nmore" and text.words_of_error('{"error":"no"}') == "no")
for _, odd in ipairs({ '{"error":{}}', "{", "{}", '{"error":[1]}', '{"message":1}', "}{" }) do
  assert(text.words_of_error(odd) == odd, odd)
end
