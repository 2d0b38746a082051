-- What is on its way stays in the prompt until it is taken, and nothing that fails keeps the rest from going.
vim.env.XDG_STATE_HOME = vim.fn.tempname()
local chats = require("trimpoint.ui.chat")
local prompt = require("trimpoint.ui.prompt")
local session = require("trimpoint.client.session")

local asked, answer = {}, nil
session.request = function(method, params)
  asked[#asked + 1] = { method = method, params = params }
  return answer(method, params)
end
local function taken()
  return {}, nil
end
local function lost()
  return nil, { message = "gone", reason = "disconnected" }
end
local function settle()
  vim.wait(30)
end

local chat = chats.fresh("/w")
chat.talk.id = "t"
local function type_and_send(words, mode)
  prompt.fill(chat.prompt, words)
  chat:submit(mode or "enter")
  settle()
  return prompt.text(chat.prompt)
end
local function last()
  return asked[#asked]
end

answer = taken
assert(type_and_send("one") == "")
assert(last().params.command.type == "thread.queue.add" and last().params.command.input[1].text == "one")

-- It is sent again under its id, unless the person has changed it meanwhile.
answer = lost
assert(type_and_send("two") == "two")
local id = last().params.command.commandId
answer = taken
chat:go_on_sending()
settle()
assert(prompt.text(chat.prompt) == "" and last().params.command.commandId == id)
answer = lost
type_and_send("three")
prompt.fill(chat.prompt, "something else")
local before = #asked
answer = taken
chat:go_on_sending()
settle()
assert(#asked == before and #chat.sending == 0 and prompt.text(chat.prompt) == "something else")

-- What may have been put into a turn already is sent again under its id: the daemon takes it once.
chat.talk.thread = {
  id = "t", cwd = "/w", requests = {}, requested = {}, queue = {}, revision = 0, entries = {}, turn_count = 1,
  turns = { a = { number = 1, status = "running" } },
}
answer = lost
assert(type_and_send("four") == "four")
assert(last().method == "turn/steer" and last().params.expectedTurnId == "a" and #chat.sending == 1)
id = last().params.clientUserMessageId
answer = taken
chat:go_on_sending()
settle()
assert(last().params.clientUserMessageId == id and prompt.text(chat.prompt) == "" and #chat.sending == 0)
-- A turn that takes nothing more leaves it to the queue; the other key asks for that.
answer = function(method)
  if method == "turn/steer" then
    return nil, { message = "no active turn" }
  end
  return {}, nil
end
assert(type_and_send("five") == "" and last().params.command.type == "thread.queue.add")
before = #asked
assert(type_and_send("six", "queue") == "" and #asked == before + 1)

-- A command that had begun and then failed comes back.
answer = function()
  chat.talk:on_notification("commands/progress", { message = "Summarizing" })
  return { handled = true, status = "failed", message = "It failed." }, nil
end
assert(type_and_send("/compact") == "/compact")

-- A task that ends with a fault keeps nothing else from being sent.
answer = function()
  error("it broke")
end
pcall(type_and_send, "seven")
answer = taken
chat:go_on_sending()
settle()
assert(prompt.text(chat.prompt) == "" and #chat.sending == 0)

-- The end of the editor takes nothing, neither what was typed nor what was on its way.
answer = lost
type_and_send("eight\nnine", "queue")
require("trimpoint.ui.sending").keep(chat)
local kept = require("trimpoint.client.kept").read("t")
assert(kept.text == "eight\nnine" and kept.sending[3].text == "eight\nnine", vim.inspect(kept))
assert(kept.sending[1].text == "four" and kept.sending[2].text == "seven", "what the agent has not read is kept with it")
