-- Each line of a change knows where it is in the file.
local activities = require("trimpoint.model.activities")

local detail = {
  changes = {
    {
      path = "/w/a.txt",
      kind = { type = "update" },
      diff = "@@ -8,3 +9,3 @@\n eight\n-nine\n+NINE\n ten\n@@ -20 +21,2 @@\n+more",
    },
    { path = "/w/old.txt", kind = { type = "update", move_path = "/w/new.txt" }, diff = "" },
    { path = "/w/b.txt", kind = { type = "add" }, diff = "one\ntwo\n" },
  },
}
local places = activities.places(detail)
local lines = activities.diff_lines(detail)
assert(#places == #lines + 1, "the first is that of the row above them")
local found = {}
for index, line in ipairs(lines) do
  found[line] = places[index + 1]
end
assert(places[1].path == "/w/a.txt" and places[1].line == 10, "where the first change is")
assert(found["/w/a.txt  +2 −1"].line == 10)
assert(found[" eight"].line == 9)
assert(found["-nine"].line == 10 and found["+NINE"].line == 10)
assert(found[" ten"].line == 11)
assert(found["+more"].line == 21)
assert(found["/w/old.txt → /w/new.txt  +0 −0"].path == "/w/new.txt")
assert(found["+two"].path == "/w/b.txt" and found["+two"].line == 2)
assert(#activities.places({}) == 0)
