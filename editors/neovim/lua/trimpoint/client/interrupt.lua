--- Stops what runs in a thread.
local model = require("trimpoint.model.thread")
local session = require("trimpoint.client.session")

local M = {}

--- In a task: interrupts the turn, or a compaction.
---@param thread trimpoint.Thread?
---@return boolean was_running, trimpoint.Refusal? refusal
function M.thread(thread)
  if not thread then
    return false, nil
  end
  local running, operation = model.running(thread), model.operation(thread)
  for _, turn_id in ipairs(running) do
    local _, refusal = session.request("turn/interrupt", { threadId = thread.id, turnId = turn_id })
    if refusal then
      return true, refusal
    end
  end
  if #running == 0 and operation then
    local answer, refusal = session.request("commands/cancel", { operationId = operation.id })
    return answer ~= nil and answer.cancelled, refusal
  end
  return #running > 0, nil
end

return M
