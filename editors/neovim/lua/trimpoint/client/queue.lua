--- Prompts on their way to the agent: into the turn that runs, or into the daemon's queue, which is
--- the same in all faces and is kept when everything ends.
local model = require("trimpoint.model.thread")
local session = require("trimpoint.client.session")

local M = {}

--- Returns an id that no other command has.
---@return string
function M.new_id()
  local bytes = assert(vim.uv.random(16))
  return (bytes:gsub(".", function(byte)
    return ("%02x"):format(byte:byte())
  end))
end

--- In a task: gives the daemon a command of a thread's queue: add, update, delete, reorder, start.
---@param talk trimpoint.Conversation
---@param kind string
---@param members table
---@return trimpoint.Refusal?
function M.change(talk, kind, members)
  local command = vim.tbl_extend(
    "force",
    { type = "thread.queue." .. kind, threadId = talk.id, commandId = M.new_id() },
    members
  )
  return select(2, session.request("orchestration/dispatch", { command = command }))
end

--- Returns the turn that takes a prompt while it runs.
---@param thread trimpoint.Thread?
---@return string?
function M.steerable(thread)
  return thread and not model.operation(thread) and model.running(thread)[1] or nil
end

---@param entries table[] of the thread
---@param told {turn: string, text: string}
---@return boolean
local function is_read(entries, told)
  for _, entry in ipairs(entries) do
    local is_prompt = entry.role == "user" and entry.turnId == told.turn
    if is_prompt and vim.trim(entry.text) == vim.trim(told.text) then
      return true
    end
  end
  return false
end

--- Returns what was put into the turn that runs and the agent has not read.
---@param talk trimpoint.Conversation
---@return table[]
function M.unread(talk)
  local entries = talk.thread and talk.thread.entries or {}
  return vim.tbl_filter(function(told)
    return not is_read(entries, told)
  end, talk.told or {})
end

---@param list table[]
---@param wanted table
---@return integer?
local function index_of(list, wanted)
  for index, one in ipairs(list) do
    if one == wanted then
      return index
    end
  end
end

--- In a task: sends a prompt: into the turn that runs, else to the queue, from which the daemon
--- sends it as soon as the thread can take it.
---@param talk trimpoint.Conversation
---@param sent trimpoint.Outgoing
---@return trimpoint.Refusal?
function M.send(talk, sent)
  local refusal = talk:prepare()
  if refusal then
    return refusal
  end
  local input = { { type = "text", text = sent.words } }
  local turn_id = sent.mode ~= "queue" and M.steerable(talk.thread)
  if turn_id then
    local params = {
      threadId = talk.id,
      expectedTurnId = turn_id,
      input = input,
      clientUserMessageId = sent.id,
    }
    local told = { id = sent.id, turn = turn_id, text = sent.words }
    talk.told = vim.tbl_filter(function(one)
      return one.id ~= sent.id
    end, talk.told or {})
    table.insert(talk.told, told)
    refusal = select(2, session.request("turn/steer", params))
    local place = index_of(talk.told, told)
    if not refusal or not place then -- it was put back into the prompt when the turn ended
      return nil
    end
    table.remove(talk.told, place)
    if refusal.reason == "disconnected" then
      return refusal
    end
    -- The turn has ended, or takes no prompt: it waits.
  end
  local members = { commandId = sent.id, clientUserMessageId = sent.id, input = input }
  return M.change(talk, "add", members)
end

return M
