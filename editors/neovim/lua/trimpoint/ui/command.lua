--- `:Trimpoint`: the editor's own commands, and the daemon's slash commands for all the rest.
local chats = require("trimpoint.ui.chat")
local commands = require("trimpoint.completion.commands")
local context = require("trimpoint.ui.context")
local interrupt = require("trimpoint.client.interrupt")
local opening = require("trimpoint.ui.opening")
local pages = require("trimpoint.ui.pages")
local pickers = require("trimpoint.ui.pickers")
local prompt = require("trimpoint.ui.prompt")
local questions = require("trimpoint.ui.questions")
local queue = require("trimpoint.ui.queue")
local review = require("trimpoint.ui.review")
local say = require("trimpoint.ui.say")
local search = require("trimpoint.ui.search")
local session = require("trimpoint.client.session")
local settings = require("trimpoint.ui.settings")
local slash = require("trimpoint.ui.slash")
local task = require("trimpoint.task")
local threads = require("trimpoint.client.threads")
require("trimpoint.ui.upgrade")

local M = {}

local SAY_SO_AFTER_MS = 700

---@class trimpoint.Call
---@field words string[] after the subcommand
---@field rest string the same as it was typed
---@field is_sure boolean with a bang
---@field selection? string what was selected, fenced and with its place

--- In a task: the chat of this folder's last thread; a fresh one if there is none and `may_begin`.
---@param may_begin boolean
---@return trimpoint.Chat?
local function chat_here(may_begin)
  local chat = chats.current()
  if chat and (chat.talk.id or may_begin) then
    return chat
  end
  local cwd = vim.fn.getcwd()
  local found, refusal = threads.last_at(threads.here())
  if refusal then
    say.refusal(refusal)
    return nil
  elseif found then
    return chats.of_thread(found.id, found.cwd)
  elseif may_begin then
    return chats.fresh(cwd)
  end
  say.refusal(threads.no_thread(cwd))
  return nil
end

---@param chat trimpoint.Chat
---@param method string
---@param params table
---@return any result nil where it was refused, and said so
local function asked(chat, method, params)
  local result, refusal = session.request(method, params)
  if refusal then
    say.refusal(refusal, chat)
  end
  return result
end

--- In a task: connects, and starts the daemon if none runs; a person is told where that takes long.
---@return boolean
local function reached()
  local is_over, is_said = false, false
  vim.defer_fn(function()
    if not is_over then
      is_said = true
      vim.api.nvim_echo({ { "trimpoint: waiting for the daemon …" } }, false, {})
    end
  end, SAY_SO_AFTER_MS)
  local refusal = session.connect({ may_start = true })
  is_over = true
  if refusal then
    say.refusal(refusal)
  elseif is_said then
    vim.api.nvim_echo({ { "" } }, false, {})
  end
  return refusal == nil
end

--- In a task: shows a window at once, in which a person can type, and the folder's last thread in
--- it once the daemon has said which that is.
---@return trimpoint.Chat
local function opened()
  return opening.open(chats.fresh(vim.fn.getcwd()), function()
    local found, refusal
    if reached() then
      found, refusal = threads.last_at(threads.here())
    end
    if refusal then
      say.refusal(refusal)
    end
    return found
  end)
end

---@param call trimpoint.Call
local function run_chat(call)
  local chat = chats.current()
  if chat then
    chat:show()
    if session.state() ~= "ready" then
      reached()
    end
  else
    chat = opened()
  end
  if chat and call.rest ~= "" then
    chat:send(call.rest)
  end
end

---@param call trimpoint.Call
local function run_ask(call)
  local chat = chat_here(true)
  if not chat then
    return
  end
  local words = call.selection and (call.rest .. "\n\n" .. call.selection) or call.rest
  chat:show()
  if call.rest ~= "" then
    chat:send(vim.trim(words))
  elseif call.selection then
    prompt.fill(chat.prompt, "\n\n" .. call.selection)
    vim.api.nvim_win_set_cursor(0, { 1, 0 })
    vim.cmd.startinsert()
  end
end

local function run_timeline()
  local chat = chat_here(false)
  if chat then
    chat:show_history()
  end
end

local function run_context()
  local chat = chat_here(false)
  if not chat then
    return
  end
  local named = { threadId = chat.talk.id }
  local found, status = asked(chat, "context/inspect", named), asked(chat, "context/status", named)
  local advice = asked(chat, "context/advice", named)
  if found and status and advice then
    pages.show("context", pages.context_lines(found, status, advice.advice))
  end
end

---@param call trimpoint.Call
local function run_diff(call)
  local chat = chat_here(false)
  if not chat then
    return
  elseif #call.words > 2 then
    say.warning("diff takes two moments at most: turn numbers, 0, safety or now.")
    return
  end
  local newer = call.words[#call.words]
  local older = #call.words == 2 and call.words[1] or nil
  local found =
    asked(chat, "checkpoint/diff", { threadId = chat.talk.id, older = older, newer = newer })
  if found then
    pages.show("diff", pages.diff_lines(found), "diff")
  end
end

---@param call trimpoint.Call
local function run_search(call)
  if call.rest == "" then
    say.warning("Search for what? :Trimpoint search WORDS")
    return
  end
  local chat = chat_here(false)
  if chat then
    if not chat.talk.thread then
      chat.talk:follow()
    end
    search.run(chat, call.rest)
  end
end

---@param call trimpoint.Call
local function run_threads(call)
  local chosen = pickers.thread(call.is_sure)
  if chosen then
    chats.of_thread(chosen.id, chosen.cwd):show()
  end
end

local function run_interrupt()
  local chat = chat_here(false)
  if not chat then
    return
  end
  chat.is_stopping = true
  local was_something, refusal = interrupt.chat(chat)
  if refusal then
    say.refusal(refusal, chat)
  elseif not was_something then
    say.in_chat(chat, "Nothing is running.", "info")
  end
end

local function run_answer()
  local chat = chats.asking() or chats.current() or chats.last_used()
  if chat then
    questions.ask(chat)
  else
    say.info(questions.none())
  end
end

--- Returns what does something with the chat of this folder.
---@param act fun(chat: trimpoint.Chat)
---@param may_begin boolean
---@return fun()
local function with_chat(act, may_begin)
  return function()
    local chat = chat_here(may_begin)
    if chat then
      act(chat)
    end
  end
end

local run_queue = with_chat(queue.ask, false)
local run_review = with_chat(review.show, false)
local run_accept, run_reject = review.accept, review.reject
local run_model = with_chat(settings.model, true)
local run_permissions = with_chat(settings.permissions, true)

local function run_fresh()
  chats.fresh(vim.fn.getcwd()):show()
  reached()
end

--- A slash command; `revert` without a turn lets the person choose one.
---@param name string
---@param call trimpoint.Call
local function run_slash(name, call)
  local chat = chat_here(false)
  if not chat then
    return
  end
  local typed = vim.trim(("/%s %s"):format(name, call.rest))
  local is_handled = slash.run(chat, typed, call.is_sure)
  if not is_handled then
    say.warning(("There is no command %q. :Trimpoint <Tab> lists them."):format(name))
  end
end

---@type table<string, fun(call: trimpoint.Call)>
local OWN = {
  accept = run_accept,
  answer = run_answer,
  ask = run_ask,
  chat = run_chat,
  context = run_context,
  diff = run_diff,
  fresh = run_fresh,
  interrupt = run_interrupt,
  model = run_model,
  permissions = run_permissions,
  queue = run_queue,
  reject = run_reject,
  review = run_review,
  search = run_search,
  threads = run_threads,
  timeline = run_timeline,
}

---@param options table of a user command
---@return string? the selected lines, with their place
local function selection_of(options)
  if options.range == 0 then
    return nil
  end
  return context.quoted(0, options.line1, options.line2)
end

--- Carries out `:Trimpoint`.
---@param options table of a user command
function M.run(options)
  local name = options.fargs[1] or "chat"
  local rest = vim.trim((options.args:gsub("^%s*%S+", "", 1)))
  local call = {
    words = vim.list_slice(options.fargs, 2),
    rest = rest,
    is_sure = options.bang,
    selection = selection_of(options),
  }
  task.run(function()
    if OWN[name] then
      OWN[name](call)
    else
      run_slash(name, call)
    end
  end)
end

--- Completes `:Trimpoint`: the editor's own subcommands and the daemon's commands.
---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local typed = line:match("Trimpoint!?%s+(.*)$") or ""
  if typed:find("%s") then
    return {}
  end
  local names = vim.tbl_keys(OWN)
  for _, command in ipairs(commands.now("/" .. lead)) do
    if not OWN[command.name] then
      names[#names + 1] = command.name
    end
  end
  names = vim.tbl_filter(function(name)
    return vim.startswith(name, lead)
  end, names)
  table.sort(names)
  return names
end

return M
