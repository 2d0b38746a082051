--- Reads a thread's history: the newest entries after a snapshot, older ones page by page.
local model = require("trimpoint.model.thread")
local session = require("trimpoint.client.session")
local threads = require("trimpoint.client.threads")

local M = {}

M.LARGEST_PAGE = 1000

--- In a task: adds the next page of older entries to a thread.
---@param thread trimpoint.Thread
---@param limit integer
---@return trimpoint.Refusal?
function M.read_page(thread, limit)
  local params =
    { threadId = thread.id, expand = "all", cursor = thread.cursor, limit = math.max(limit, 1) }
  local page, refusal = session.request("timeline/read", params)
  if not refusal then
    model.add_older(thread, page)
  end
  return refusal
end

--- In a task: makes the thread of a snapshot, with as many of its newest entries as are wanted.
---@param snapshot table
---@param wanted integer
---@return trimpoint.Thread? thread, trimpoint.Refusal? refusal
function M.of_snapshot(snapshot, wanted)
  local fresh = model.new(snapshot)
  repeat
    local refusal = M.read_page(fresh, math.min(wanted - #fresh.entries, M.LARGEST_PAGE))
    if refusal then
      return nil, refusal
    end
  until fresh.cursor == nil or #fresh.entries >= wanted
  for _, known in ipairs(#fresh.links > 0 and threads.own() or {}) do
    fresh.titles[known.id] = known.title ~= "" and known.title or nil
  end
  return fresh, nil
end

return M
