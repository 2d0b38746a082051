--- Prompts that wait in the daemon: each can be edited, moved, sent and taken back.
local choose = require("trimpoint.ui.choose")
local prompt = require("trimpoint.ui.prompt")
local queue = require("trimpoint.client.queue")
local say = require("trimpoint.ui.say")
local task = require("trimpoint.task")
local text = require("trimpoint.model.text")
local threads = require("trimpoint.model.thread")
local windows = require("trimpoint.ui.windows")

local M = {}

---@param chat trimpoint.Chat
---@param kind string
---@param members table
---@return boolean
local function change(chat, kind, members)
  local refusal = queue.change(chat.talk, kind, members)
  if refusal then
    say.refusal(refusal, chat)
  end
  return refusal == nil
end

--- Opens a queued prompt in a buffer of its own; writing it changes it in its place.
---@param chat trimpoint.Chat
---@param queued trimpoint.Queued
local function edit(chat, queued)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buffer, "trimpoint://waits/" .. queued.id)
  vim.bo[buffer].buftype, vim.bo[buffer].bufhidden = "acwrite", "wipe"
  vim.bo[buffer].modeline, vim.bo[buffer].filetype = false, "trimpoint_queued"
  local words = vim.split(threads.queued_text(queued), "\n", { plain = true })
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, words)
  vim.bo[buffer].modified = false
  vim.api.nvim_create_autocmd("BufWriteCmd", {
    buffer = buffer,
    callback = function()
      local input = vim.tbl_filter(function(part)
        return part.type ~= "text"
      end, queued.input)
      input[#input + 1] = { type = "text", text = prompt.text(buffer) }
      task.run(function()
        if change(chat, "update", { promptId = queued.id, input = input }) then
          vim.bo[buffer].modified = false
          say.info("The prompt that waits was changed.")
        end
      end)
    end,
  })
  windows.open_below(buffer)
  say.info("Change it and :write; :quit leaves it as it is.")
end

---@param chat trimpoint.Chat
---@param queued trimpoint.Queued
---@param step integer
local function move(chat, queued, step)
  local ids = vim.tbl_map(function(one)
    return one.id
  end, chat.talk.thread.queue)
  for index, id in ipairs(ids) do
    if id == queued.id and ids[index + step] then
      ids[index], ids[index + step] = ids[index + step], id
      change(chat, "reorder", { promptIds = ids })
      return
    end
  end
end

---@param chat trimpoint.Chat
---@param queued trimpoint.Queued
local function take_back(chat, queued)
  local words = threads.queued_text(queued)
  -- It is kept here before it is gone there.
  prompt.put_before(chat.prompt, words)
  if not change(chat, "delete", { promptId = queued.id }) then
    prompt.take_out(chat.prompt, words)
  end
end

---@class trimpoint.QueueAct
---@field words string
---@field act fun(chat: trimpoint.Chat, queued: trimpoint.Queued)

---@param thread trimpoint.Thread
---@param queued trimpoint.Queued
---@return trimpoint.QueueAct[]
local function acts_for(thread, queued)
  local acts = {
    { words = "Edit it where it waits", act = edit },
    { words = "Take it back into the prompt", act = take_back },
  }
  local function add(words, act)
    acts[#acts + 1] = { words = words, act = act }
  end
  if thread.queue_hold then
    add("Send it now", function(chat, one)
      change(chat, "start", { promptId = one.id })
    end)
  end
  if thread.queue[1] ~= queued then
    add("Move it up", function(chat, one)
      move(chat, one, -1)
    end)
  end
  if thread.queue[#thread.queue] ~= queued then
    add("Move it down", function(chat, one)
      move(chat, one, 1)
    end)
  end
  return acts
end

---@param chat trimpoint.Chat
---@param queued trimpoint.Queued
local function ask_what(chat, queued)
  local chosen, problem = choose.from(acts_for(chat.talk.thread, queued), {
    prompt = "Waits: " .. text.one_line(threads.queued_text(queued), 120),
    kind = "trimpoint_queued",
    format_item = function(act)
      return act.words
    end,
  })
  if chosen then
    chosen.act(chat, queued)
  elseif problem then
    say.in_chat(chat, problem, "warning")
  end
end

--- In a task: lets a person choose what becomes of a prompt that waits, after which one.
---@param chat trimpoint.Chat
---@param prompt_id string? one of them
function M.ask(chat, prompt_id)
  local waiting = chat.talk.thread and chat.talk.thread.queue or {}
  local queued = waiting[1]
  for _, one in ipairs(waiting) do
    queued = one.id == prompt_id and one or queued
  end
  if #waiting > 1 and not prompt_id then
    queued = choose.from(waiting, {
      prompt = "Prompts that wait",
      kind = "trimpoint_queue",
      format_item = function(one)
        return text.one_line(threads.queued_text(one), 120)
      end,
    })
  elseif #waiting == 0 then
    say.in_chat(chat, "No prompt waits.", "info")
  end
  if queued then
    ask_what(chat, queued)
  end
end

return M
