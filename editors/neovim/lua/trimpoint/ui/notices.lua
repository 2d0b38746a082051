--- What stands below a history.
local queue = require("trimpoint.client.queue")
local session = require("trimpoint.client.session")
local text = require("trimpoint.model.text")

local M = {}

local SIGNS = { done = "✓ ", info = "– ", warning = "– ", problem = "✗ " }
local GROUPS = {
  done = "TrimpointOk",
  info = "TrimpointQuiet",
  warning = "TrimpointWarning",
  problem = "TrimpointWarning",
}

local HOLDS = {
  interrupted = "The queue waits because the turn was interrupted.",
  failed = "The queue waits because the turn failed.",
  refused = "The queue waits because its first prompt was refused.",
}

--- Returns the lines below a history: what was said, what waits, what is wrong.
---@param talk trimpoint.Conversation
---@param said trimpoint.Said?
---@return { words: string, group: string }[]
function M.of(talk, said)
  local notices = {}
  local function add(words, group)
    notices[#notices + 1] = { words = words, group = group }
  end
  local thread = talk.thread
  for _, told in ipairs(queue.unread(talk)) do
    add("❯ not read yet: " .. text.one_line(told.text, 200), "TrimpointQuiet")
  end
  if said then
    add(SIGNS[said.tone] .. said.words, GROUPS[said.tone])
  end
  if talk.live.notice ~= "" then
    add("⟳ " .. talk.live.notice, "TrimpointWarning")
  end
  local hold = thread and #thread.queue > 0 and thread.queue_hold
  if hold then
    local words = HOLDS[hold.reason] or "The queue waits."
    local why = text.one_line((hold.message or "") .. " :Trimpoint queue sends it.", 300)
    add(("– %s %s"):format(words, why), "TrimpointWarning")
  end
  if session.state() == "lost" then
    add(
      "✗ Not connected to the daemon; it is tried again. The next prompt starts one.",
      "TrimpointWarning"
    )
    add("– What you type is kept, and sent then.", "TrimpointQuiet")
  elseif talk.problem ~= "" then
    add("✗ " .. talk.problem, "TrimpointWarning")
  end
  if thread and thread.archived then
    local goes_on = thread.new_thread_id and " It went on as another: <CR> here opens that." or ""
    add("This thread is archived." .. goes_on, "TrimpointQuiet")
  elseif thread and thread.read_only then
    add("Read-only: " .. thread.read_only, "TrimpointWarning")
  end
  return notices
end

return M
