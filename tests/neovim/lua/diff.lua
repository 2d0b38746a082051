-- A diff is taken apart by files and lines.
local diff = require("trimpoint.model.diff")

local files = diff.files([[
diff --git a/one.py b/one.py
index 1..2 100644
--- a/one.py
+++ b/one.py
@@ -1,3 +1,4 @@
 a
-b
--- c
+B
+++ C
+D
@@ -9 +10 @@ def f():
-old
+new
\ No newline at end of file
diff --git a/gone b/gone
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/made b/made
new file mode 100644
--- /dev/null
+++ b/made
@@ -0,0 +1,2 @@
+x
+y]])
assert(#files == 2 and files[1].path == "one.py" and files[2].path == "made")
local first, second = unpack(files[1].hunks)
assert(vim.deep_equal(first.added, { 2, 3, 4 }), vim.inspect(first))
assert(vim.deep_equal(first.removed, { [2] = { "b", "-- c" } }))
assert(second.first == 10 and vim.deep_equal(second.added, { 10 }) and vim.deep_equal(second.removed, { [10] = { "old" } }))
assert(vim.deep_equal(files[2].hunks[1].added, { 1, 2 }))
assert(#diff.files("") == 0)
