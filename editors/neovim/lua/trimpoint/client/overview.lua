--- All threads in short, asked for anew when something has changed: which wait for a person.
local session = require("trimpoint.client.session")
local task = require("trimpoint.task")

local M = {}

local REFRESH_MS = 200 -- once for many changes
-- A long list costs much, and need not be as new.
local MANY, REFRESH_MANY_MS = 300, 3000
local BEHIND_MS = 1000
local CHANGES_LIST = {
  ["thread/started"] = true,
  ["thread/archived"] = true,
  ["thread/unarchived"] = true,
  ["thread/deleted"] = true,
  ["thread/name/updated"] = true,
  ["thread/status/changed"] = true,
}

---@type table<string, table> of `orchestration/snapshot`, by their ids
local threads = {}
---@type fun(asking: table[])[]
local listeners = {}
---@type table<string, table> the status that Codex gave last
local said = {}
local count, is_known, is_asked = 0, false, false
local is_first = true -- since the connection was made

---@param thread table
---@return boolean
function M.waits(thread)
  return thread.asks ~= nil and not thread.archived
end

--- Returns whether the daemon has not recorded yet what Codex has said of a thread: that it rests,
--- or that it waits for an answer. The daemon tells nobody when it has.
---@param thread table
---@return boolean
local function is_behind(thread)
  local status = said[thread.id]
  if type(status) ~= "table" then
    return false
  end
  for _, flag in ipairs(type(status.activeFlags) == "table" and status.activeFlags or {}) do
    if vim.startswith(tostring(flag), "waitingOn") then
      return thread.asks == nil
    end
  end
  return status.type ~= "active" and thread.busy ~= nil
end

---@param rows table[]
local function take(rows)
  local fresh, asking = {}, {}
  for _, thread in ipairs(rows) do
    local before = threads[thread.id]
    fresh[thread.id] = thread
    if is_first and M.waits(thread) and not (before and M.waits(before)) then
      asking[#asking + 1] = thread
    end
  end
  threads, count, is_known, is_first = fresh, #rows, true, false
  for _, listener in ipairs(listeners) do
    listener(asking)
  end
end

---@param least integer?
local function refresh_soon(least)
  if is_asked then
    return
  end
  is_asked = true
  vim.defer_fn(function()
    is_asked = false
    if session.state() ~= "ready" then
      return
    end
    task.run(function()
      local answer = session.request("orchestration/snapshot", {})
      if answer then
        take(answer.threads)
        if vim.iter(answer.threads):any(is_behind) then
          refresh_soon(BEHIND_MS)
        end
      end
    end)
  end, count > MANY and is_known and REFRESH_MANY_MS or least or REFRESH_MS)
end

--- Returns the threads that wait for a person, but for those with these ids.
---@param without table<string, boolean>
---@return table[]
function M.waiting(without)
  local found = {}
  for id, thread in pairs(threads) do
    if M.waits(thread) and not without[id] then
      found[#found + 1] = thread
    end
  end
  return found
end

--- Adds what is called after each look; the first one of a connection finds threads that have begun
--- to ask.
---@param listener fun(asking: table[])
function M.listen(listener)
  listeners[#listeners + 1] = listener
end

session.listen({
  on_state = function(state)
    if state == "ready" then
      is_first = true
      refresh_soon()
    end
  end,
  on_notification = function(method, params)
    if method == "thread/status/changed" and params.threadId then
      said[params.threadId] = params.status
    end
    if CHANGES_LIST[method] then
      refresh_soon()
    end
  end,
})

if session.state() == "ready" then
  refresh_soon()
end

return M
