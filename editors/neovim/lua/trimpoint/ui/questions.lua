--- Puts the agent's questions to the person.
---
--- A person who types elsewhere must not approve something by their next key: the question is put
--- at once only to a person who is in the chat and types nothing.
local config = require("trimpoint.config")
local model = require("trimpoint.model.questions")
local say = require("trimpoint.ui.say")
local task = require("trimpoint.task")
local text = require("trimpoint.model.text")

local M = {}

local is_asking = false

---@param items any[]
---@param options table
---@return any chosen
local function select(items, options)
  return task.await(function(resume)
    vim.ui.select(items, options, resume)
  end)
end

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
---@return string? answer
local function reply_to(asked)
  local options = vim.list_extend({}, asked.options or {})
  if #options == 0 then
    return typed_answer(asked)
  end
  if asked.isOther then
    options[#options + 1] = { label = "Another answer …", is_other = true }
  end
  local chosen = select(options, {
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
  return chosen and chosen.label
end

---@param question trimpoint.Question
---@return table? result
local function user_input(question)
  local answers = {}
  for _, asked in ipairs(question.params.questions or {}) do
    local answer = reply_to(asked)
    if not answer or answer == "" then
      return nil
    end
    answers[asked.id] = { answers = { answer } }
  end
  return { answers = answers }
end

---@param question trimpoint.Question
---@return table? result
local function approval(question)
  local subject = model.subject(question)
  local words = subject[1] and text.one_line(table.concat(subject, " "), 160) or ""
  local chosen = select(model.choices(question), {
    prompt = ("%s: %s"):format(model.title(question), words),
    kind = "trimpoint_approval",
    format_item = function(choice)
      return choice.words
    end,
  })
  return chosen and chosen.result
end

--- In a task: puts the oldest open question of a chat to the person.
---@param chat trimpoint.Chat
function M.ask(chat)
  local question = chat.talk.questions[1]
  if not question then
    say.in_chat(chat, "The agent asks nothing.", "info")
    return
  end
  if is_asking then
    return
  end
  is_asking = true
  local result = model.is_user_input(question) and user_input(question) or nil
  if not model.is_user_input(question) then
    result = approval(question)
  end
  is_asking = false
  if not result then
    return
  end
  if not chat.talk:answer(question, result) then
    say.in_chat(chat, "The question is no longer open.", "info")
  elseif chat.talk.questions[1] then
    M.ask(chat)
  end
end

---@param chat trimpoint.Chat
---@return boolean
local function is_attending(chat)
  local buffer = vim.api.nvim_get_current_buf()
  if
    buffer ~= chat.buffer and buffer ~= chat.prompt
    or vim.fn.mode() ~= "n" and not M.is_idle_prompt(chat)
  then
    return false
  end
  return vim.fn.getcmdwintype() == ""
end

---@param chat trimpoint.Chat
---@return boolean
function M.is_idle_prompt(chat)
  local lines = vim.api.nvim_buf_get_lines(chat.prompt, 0, -1, false)
  return vim.api.nvim_get_current_buf() == chat.prompt
    and vim.fn.mode() == "i"
    and table.concat(lines) == ""
end

--- Hears of a question.
---@param chat trimpoint.Chat
---@param question trimpoint.Question
function M.on_question(chat, question)
  if config.get().ask_at_once and is_attending(chat) then
    task.run(function()
      -- What it is about is drawn first.
      task.sleep(50)
      M.ask(chat)
    end)
    return
  end
  say.warning(model.title(question) .. ". :Trimpoint answer")
end

return M
