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

local permissions = { id = 2, method = "item/permissions/requestApproval", params = { permissions = { network = { enabled = true } } } }
choices = questions.choices(permissions)
assert(vim.json.encode(choices[2].result.permissions) == "{}", "no is no permission at all")
assert(vim.deep_equal(choices[1].result.permissions, permissions.params.permissions))
assert(not questions.is_answered("item/tool/call"), "what is not known is left to other clients")
