--- What the agent asks: in words, with the answers that Codex offers. Pure.
local activities = require("trimpoint.model.activities")
local text = require("trimpoint.model.text")

local M = {}

local COMMAND, FILES = "item/commandExecution/requestApproval", "item/fileChange/requestApproval"
local PERMISSIONS, USER_INPUT = "item/permissions/requestApproval", "item/tool/requestUserInput"
local ANSWERED = { [COMMAND] = true, [FILES] = true, [PERMISSIONS] = true, [USER_INPUT] = true }
local WORDS = {
  accept = "Yes",
  acceptForSession = "Yes, for the whole session",
  decline = "No",
  cancel = "No, and stop the turn",
}
local USUAL = { "accept", "acceptForSession", "decline", "cancel" }

---@class trimpoint.Question
---@field id string|integer
---@field method string
---@field params table
---@field item? table Codex's item that it is about

---@class trimpoint.Choice
---@field words string
---@field result table

--- Returns whether a question of this kind can be answered here; other clients may know others.
---@param method string
---@return boolean
function M.is_answered(method)
  return ANSWERED[method] == true
end

---@param question trimpoint.Question
---@return boolean
function M.is_user_input(question)
  return question.method == USER_INPUT
end

---@param decision any
---@return string
local function words_of(decision)
  if type(decision) == "string" then
    return WORDS[decision] or text.one_line(decision, 80)
  end
  local rule = vim.tbl_get(decision, "acceptWithExecpolicyAmendment", "execpolicy_amendment")
  if rule then
    return ("Yes, and never ask again for `%s`"):format(
      text.one_line(activities.typed(table.concat(rule, " ")), 80)
    )
  end
  local network = vim.tbl_get(decision, "applyNetworkPolicyAmendment", "network_policy_amendment")
  if network then
    local host = text.one_line(network.host or "?", 80)
    return network.action == "deny" and ("No, and never allow %s"):format(host)
      or ("Yes, and always allow %s"):format(host)
  end
  return text.one_line(vim.json.encode(decision), 80)
end

--- Returns the answers to an approval, in Codex's order.
---@param question trimpoint.Question
---@return trimpoint.Choice[]
function M.choices(question)
  local params = question.params
  if question.method == PERMISSIONS then
    return {
      {
        words = "Yes, for this turn",
        result = { permissions = params.permissions, scope = "turn" },
      },
      { words = "No", result = { permissions = vim.empty_dict(), scope = "turn" } },
    }
  end
  local choices = {}
  for _, decision in ipairs(params.availableDecisions or USUAL) do
    choices[#choices + 1] = { words = words_of(decision), result = { decision = decision } }
  end
  return choices
end

--- Returns what is asked, in a line.
---@param question trimpoint.Question
---@return string
function M.title(question)
  local params = question.params
  local host = vim.tbl_get(params, "networkApprovalContext", "host")
  if host then
    return ("The agent asks to reach %s"):format(text.one_line(host, 80))
  elseif question.method == COMMAND then
    return "The agent asks to run a command"
  elseif question.method == FILES then
    return "The agent asks to change files"
  elseif question.method == PERMISSIONS then
    return "The agent asks for more permissions"
  end
  return "The agent asks"
end

--- Returns what a person has to see before they answer, line by line.
---@param question trimpoint.Question
---@return string[]
function M.subject(question)
  local params, lines = question.params, {}
  if params.reason then
    vim.list_extend(lines, text.lines(params.reason))
  end
  if question.method == PERMISSIONS then
    vim.list_extend(lines, text.lines(vim.json.encode(params.permissions)))
  elseif params.command then
    vim.list_extend(lines, text.lines("$ " .. activities.typed(params.command)))
  elseif question.method == FILES then
    vim.list_extend(lines, activities.diff_lines(question.item or {}))
  end
  for _, asked in ipairs(question.method == USER_INPUT and params.questions or {}) do
    vim.list_extend(lines, text.lines(asked.question))
  end
  if params.cwd then
    lines[#lines + 1] = "in " .. text.one_line(params.cwd, 200)
  end
  return lines
end

return M
