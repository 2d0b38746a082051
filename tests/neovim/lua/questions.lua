-- What is asked is shown as it is, and each answer is one that Codex offered.
local questions = require("trimpoint.model.questions")

local command = {
  id = 1,
  method = "item/commandExecution/requestApproval",
  params = {
    command = [[/bin/bash -lc 'rm -rf "$HOME"']], cwd = "/w", reason = "to clean\27[2J up",
    availableDecisions = { "accept", { acceptWithExecpolicyAmendment = { execpolicy_amendment = { "rm" } } }, "cancel" },
  },
}
local words = table.concat(questions.subject(command), "\n")
assert(words:find('$ rm -rf "$HOME"', 1, true), words)
assert(not words:find("\27", 1, true))
local choices = questions.choices(command)
assert(#choices == 3)
assert(choices[1].words == "Yes" and vim.deep_equal(choices[1].result, { decision = "accept" }))
assert(choices[2].words == "Yes, and never ask again for `rm`")
assert(choices[3].words == "No, and stop the turn")
assert(not choices[1].rule and choices[2].rule == 'prefix_rule(pattern=["rm"], decision="allow")')

local hidden = { id = 3, method = command.method, params = { command = "echo a" .. (" "):rep(500) .. "; rm x" .. ("\n"):rep(100) .. "\u{200b}end" } }
local subject = questions.subject(hidden)
assert(vim.deep_equal(vim.list_slice(subject, 1, 2), { "$ echo a ⟨500 blanks⟩ ; rm x", "⟨99 empty lines⟩" }), vim.inspect(subject))
assert(subject[3] ~= "end", "what has no width is seen")
assert(questions.summary(hidden):find("3 lines in the chat", 1, true))

local files = { id = 4, method = "item/fileChange/requestApproval", params = { availableDecisions = { "accept", "decline", "cancel" } } }
assert(#questions.choices(files) == 2, "what is not known here cannot be allowed here")
files.item = { changes = { { path = "new.py", kind = { type = "add" }, diff = "a\nb\n" }, { path = "b", kind = { type = "update", move_path = "c" }, diff = "@@ -1 +0 @@\n-x" } } }
assert(#questions.choices(files) == 3)
assert(vim.deep_equal(questions.subject(files), { "new.py  +2 −0", "+a", "+b", "b → c  +0 −1", "@@ -1 +0 @@", "-x" }), vim.inspect(questions.subject(files)))

local permissions = { id = 2, method = "item/permissions/requestApproval", params = { permissions = { network = { enabled = true } } } }
choices = questions.choices(permissions)
assert(vim.json.encode(choices[2].result.permissions) == "{}", "no is no permission at all")
assert(vim.deep_equal(choices[1].result.permissions, permissions.params.permissions))
assert(not questions.is_answered("item/tool/call"), "what is not known is left to other clients")

local again = vim.deepcopy(permissions)
assert(questions.has({ again }, permissions), "what was sent again is the same question")
local other = { id = permissions.id, method = command.method, params = { command = "rm x" } }
assert(not questions.has({ other }, permissions), "another one with its number is not")
