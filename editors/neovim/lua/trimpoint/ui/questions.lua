--- Puts the agent's questions to the person.
---
--- Always true: a question is answered only after the person has gone to it. That it is there is
--- shown and said, and takes no key from what the person does.
local choose = require("trimpoint.ui.choose")
local model = require("trimpoint.model.questions")
local say = require("trimpoint.ui.say")
local task = require("trimpoint.task")
local text = require("trimpoint.model.text")

local M = {}

---@param options table
---@return string?
local function input(options)
  return task.await(function(resume)
    vim.ui.input(options, resume)
  end)
end

---@param asked table
---@return string? answer
local function typed_answer(asked)
  local words = text.one_line(asked.question or "", 200) .. " "
  if asked.isSecret then
    return vim.fn.inputsecret(words)
  end
  return input({ prompt = words })
end

---@param asked table
---@return string? answer, string? problem
local function reply_to(asked)
  local options = vim.list_extend({}, asked.options or {})
  if #options == 0 then
    return typed_answer(asked)
  end
  if asked.isOther then
    options[#options + 1] = { label = "Another answer …", is_other = true }
  end
  local chosen, problem = choose.deliberately(options, {
    prompt = text.one_line(asked.question or "", 200),
    kind = "trimpoint_question",
    format_item = function(option)
      local words = option.label
        .. (option.description and option.description ~= "" and ": " .. option.description or "")
      return text.one_line(words, 200)
    end,
  })
  if chosen and chosen.is_other then
    return typed_answer(asked)
  end
  return chosen and chosen.label, problem
end

---@param question trimpoint.Question
---@return table? result, string? problem
local function user_input(question)
  local answers = {}
  for _, asked in ipairs(question.params.questions or {}) do
    local answer, problem = reply_to(asked)
    if not answer or answer == "" then
      return nil, problem
    end
    answers[asked.id] = { answers = { answer } }
  end
  return { answers = answers }
end

--- Shows the rule that a choice writes, and asks once more.
---@param rule string
---@return boolean? is_wanted, string? problem
local function confirmed(rule)
  local chosen, problem = choose.deliberately({ "No, go back", "Yes, write the rule" }, {
    prompt = "From now on, in every thread and folder, Codex has this rule:\n" .. rule,
    kind = "trimpoint_rule",
  })
  return chosen == "Yes, write the rule", problem
end

---@param question trimpoint.Question
---@return table? result, string? problem
local function approval(question)
  local chosen, problem = choose.deliberately(model.choices(question), {
    prompt = model.summary(question),
    kind = "trimpoint_approval",
    format_item = function(choice)
      return choice.words
    end,
  })
  if not chosen or not chosen.rule then
    return chosen and chosen.result, problem
  end
  local is_wanted, fault = confirmed(chosen.rule)
  if fault or is_wanted then
    return is_wanted and chosen.result or nil, fault
  end
  return approval(question)
end

--- Says that nothing is asked in the chats that are open, and where else something is.
---@return string
function M.none()
  local count = require("trimpoint.ui.waiting").count()
  local elsewhere = count == 1 and "One thread that is not open asks: :Trimpoint! threads"
    or ("%d threads that are not open ask: :Trimpoint! threads"):format(count)
  return "The agent asks nothing here." .. (count > 0 and " " .. elsewhere or "")
end

--- In a task: puts the oldest open question of a chat to the person, who has asked for it.
---@param chat trimpoint.Chat
function M.ask(chat)
  local question = chat.talk.questions[1]
  if not question then
    say.in_chat(chat, M.none(), "info")
    return
  end
  if not chat:is_in_sight() then
    -- The history has all of what is asked.
    chat:show_history()
  end
  local act = model.is_user_input(question) and user_input or approval
  local result, problem = act(question)
  if problem then
    say.in_chat(chat, problem, "warning")
  elseif result and not chat.talk:answer(question, result) then
    say.in_chat(chat, "The question is no longer open.", "info")
  end
end

--- Says that there is a question.
---@param question trimpoint.Question
function M.on_question(question)
  say.warning(model.title(question) .. ". :Trimpoint answer")
end

return M
