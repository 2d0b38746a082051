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
---@field rule? string what it changes for ever

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

---@param words string[]
---@return string
local function quoted(words)
  return table.concat(
    vim.tbl_map(function(word)
      return ('"%s"'):format(tostring(word):gsub('[\\"]', "\\%0"))
    end, words),
    ", "
  )
end

--- Returns the rule that a decision writes, which holds until a person removes it.
---@param decision any
---@return string?
local function rule_of(decision)
  if type(decision) ~= "table" then
    return nil
  end
  local words = vim.tbl_get(decision, "acceptWithExecpolicyAmendment", "execpolicy_amendment")
  if words then
    return text.printable(('prefix_rule(pattern=[%s], decision="allow")'):format(quoted(words)))
  end
  local change = vim.tbl_get(decision, "applyNetworkPolicyAmendment", "network_policy_amendment")
  if change then
    return text.printable(
      ("network_rule(host=%s, decision=%s)"):format(
        quoted({ change.host }),
        quoted({ change.action })
      )
    )
  end
  return nil
end

--- Returns whether all of what an approval is about is known here.
---@param question trimpoint.Question
---@return boolean
function M.is_known(question)
  local params = question.params
  return params.command ~= nil
    or vim.tbl_get(params, "networkApprovalContext", "host") ~= nil
    or #text.list(text.object(question.item).changes) > 0
end

local DECLINES = { decline = true, cancel = true }

--- Returns the answers to an approval, in Codex's order. What is not known cannot be allowed.
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
    if DECLINES[decision] or M.is_known(question) then
      choices[#choices + 1] =
        { words = words_of(decision), result = { decision = decision }, rule = rule_of(decision) }
    end
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
  if params.cwd then
    lines[#lines + 1] = "in " .. text.one_line(params.cwd, 2000)
  end
  if question.method == PERMISSIONS then
    vim.list_extend(lines, text.whole_lines(text.json(params.permissions)))
  elseif params.command then
    vim.list_extend(
      lines,
      text.whole_lines("$ " .. activities.typed(text.printable(params.command)))
    )
  elseif question.method == FILES and M.is_known(question) then
    vim.list_extend(lines, activities.diff_lines(question.item))
  elseif question.method == FILES then
    lines[#lines + 1] = "What it would do is not known in this window: it cannot be allowed here."
  end
  for _, asked in ipairs(question.method == USER_INPUT and text.list(params.questions) or {}) do
    vim.list_extend(lines, text.lines(text.object(asked).question))
  end
  if params.grantRoot then
    lines[#lines + 1] = "and to write below " .. text.one_line(params.grantRoot, 2000)
  end
  if params.additionalPermissions then
    lines[#lines + 1] = "and for " .. text.json(params.additionalPermissions)
  end
  if params.reason then
    vim.list_extend(lines, text.whole_lines("The agent says: " .. text.printable(params.reason)))
  end
  return lines
end

--- Returns a question in a line, with the number of lines that the history has of it.
---@param question trimpoint.Question
---@return string
function M.summary(question)
  local subject = M.subject(question)
  local count = #subject > 2 and (" (%s in the chat)"):format(text.counted(#subject, "line")) or ""
  local words = text.one_line(table.concat(subject, " "), 160)
  return ("%s%s: %s"):format(M.title(question), count, words)
end

--- Returns whether a question is among others. The daemon may send one again, as when a client
--- takes part in its thread, and numbers others alike in another connection.
---@param questions trimpoint.Question[]
---@param wanted trimpoint.Question
---@return boolean
function M.has(questions, wanted)
  return vim.iter(questions):any(function(one)
    return one.id == wanted.id and vim.deep_equal(one.params, wanted.params)
  end)
end

return M
