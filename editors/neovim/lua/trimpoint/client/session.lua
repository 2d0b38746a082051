--- The editor's one conversation with the daemon: it is found or started, greeted, and found again
--- when it was lost.
---
--- Modules that want to be told add a listener. The daemon is started only for what a person asked
--- for; a connection that was lost is tried again, but a daemon that was ended on purpose stays
--- ended.
local connection = require("trimpoint.client.connection")
local daemon = require("trimpoint.client.daemon")
local peer = require("trimpoint.rpc.peer")
local task = require("trimpoint.task")

local M = {}

M.VERSION = "0.1.0"
local QUIET = {
  "rawResponseItem/completed",
  "rawResponse/completed",
  "turn/diff/updated",
  "account/rateLimits/updated",
}
local FIRST_RETRY_MS, LAST_RETRY_MS = 250, 5000
local ANSWERS_AFTER_START_MS = 5000
local MOST_ATTEMPTS = 3
-- A daemon that is stopped says nothing: without an answer for this long it is not connected.
-- The first answer may wait for the start of Codex.
M.SILENCE_MS, M.PATIENCE_MS, M.GREETING_MS = 10000, 8000, 60000

---@alias trimpoint.State "idle"|"connecting"|"ready"|"lost"

---@class trimpoint.SessionListener
---@field on_state? fun(state: trimpoint.State)
---@field on_notification? fun(method: string, params: table)
---@field on_question? fun(id: string|integer, method: string, params: table): boolean is it ours

---@type trimpoint.State
local state = "idle"
---@type trimpoint.Peer?
local current
---@type trimpoint.Connection?
local pipe
---@type trimpoint.SessionListener[]
local listeners = {}
---@type fun(refusal: trimpoint.Refusal?)[]
local waiting = {}
local retry_ms = FIRST_RETRY_MS
local is_wanted, is_again, is_held = false, false, false
local heard, was_silent = 0, false

---@param new trimpoint.State
local function become(new)
  if state ~= new then
    state = new
    for _, listener in ipairs(listeners) do
      if listener.on_state then
        listener.on_state(new)
      end
    end
  end
end

---@type trimpoint.Listener
local hub = {
  on_notification = function(method, params)
    for _, listener in ipairs(listeners) do
      if listener.on_notification then
        listener.on_notification(method, params)
      end
    end
  end,
  on_question = function(id, method, params)
    for _, listener in ipairs(listeners) do
      if listener.on_question and listener.on_question(id, method, params) then
        return
      end
    end
    M.decline(id)
  end,
}

local function try_again_later()
  local pause = retry_ms
  retry_ms = math.min(retry_ms * 2, LAST_RETRY_MS)
  vim.defer_fn(function()
    if state == "lost" and is_wanted then
      task.run(function()
        M.connect()
      end)
    end
  end, pause)
end

local function on_close()
  local lost = current
  current, pipe = nil, nil
  become("lost")
  if lost then
    lost:close()
  end
  if is_wanted then
    try_again_later()
  end
end

--- Ends a connection on which nothing is said any more.
local function end_silent()
  was_silent = true
  if pipe then
    pipe:close()
  end
  on_close()
end

--- Gives a greeting up that is not answered.
---@param of trimpoint.Peer
local function await_greeting(of)
  vim.defer_fn(function()
    if current == of and state == "connecting" then
      end_silent()
    end
  end, M.GREETING_MS)
end

--- Asks for a sign of life where there was none for a while, for as long as the connection lasts.
---@param of trimpoint.Peer
local function beat(of)
  local before = heard
  vim.defer_fn(function()
    if current == of and heard == before then
      of:request("commands/complete", { text = "" }, function() end)
    end
    vim.defer_fn(function()
      if current == of and heard == before then
        end_silent()
      elseif current == of then
        beat(of)
      end
    end, M.PATIENCE_MS)
  end, M.SILENCE_MS)
end

---@param path string
---@return boolean is_open
local function open(path)
  local fresh
  local opened = connection.open(path, function(bytes)
    heard = heard + 1
    if fresh then
      fresh:receive(bytes)
    end
  end, function()
    if fresh and current == fresh then
      on_close()
    elseif fresh then
      fresh:close()
    end
  end)
  if not opened then
    return false
  end
  fresh = peer.new(function(bytes)
    opened:write(bytes)
  end, hub)
  current, pipe = fresh, opened
  return true
end

--- In a task: a socket that answers, of a daemon that is started for it if `may_start`.
---@param may_start boolean
---@return trimpoint.Refusal?
local function reach(may_start)
  local path, refusal = daemon.socket()
  if not path then
    return refusal
  end
  if open(path) then
    return nil
  end
  if not may_start then
    return {
      message = ("No daemon answers at %s."):format(path),
      reason = "no_daemon",
      hint = ":Trimpoint chat starts one.",
    }
  end
  refusal = daemon.start()
  if refusal then
    return refusal
  end
  if open(path) then
    return nil
  end
  -- It may listen elsewhere than a daemon that is gone.
  path, refusal = daemon.socket(true)
  local deadline = vim.uv.now() + ANSWERS_AFTER_START_MS
  while path and vim.uv.now() < deadline do
    if open(path) then
      return nil
    end
    task.sleep(50)
  end
  return refusal
    or {
      message = ("The daemon was started, but nothing answers at %s."):format(path),
      reason = "no_daemon",
    }
end

---@param method string
---@param params table?
---@return any result, trimpoint.Refusal? refusal
local function asked(method, params)
  local refusal, result = task.await(function(resume)
    local to = current
    if to then
      to:request(method, params, resume)
    else
      resume(peer.disconnected(), nil)
    end
  end)
  return result, refusal
end

---@return trimpoint.Refusal?
local function greet()
  local home, refusal, _ = vim.env.CODEX_HOME, nil, nil
  if home and home ~= "" then
    _, refusal =
      asked("sidecar/useProfile", { codexHome = vim.fs.normalize(vim.fn.fnamemodify(home, ":p")) })
  end
  if not refusal then
    _, refusal = asked("initialize", {
      clientInfo = { name = "trimpoint-nvim", title = "trimpoint for Neovim", version = M.VERSION },
      capabilities = { experimentalApi = true, optOutNotificationMethods = QUIET },
    })
  end
  if refusal then
    return refusal
  end
  if current then
    current:notify("initialized")
    return nil
  end
  return peer.disconnected()
end

---@param refusal trimpoint.Refusal?
local function settle(refusal)
  local all = waiting
  waiting = {}
  for _, resume in ipairs(all) do
    resume(refusal)
  end
end

--- In a task: tries once; several that connect at once share one attempt.
---@param may_start boolean
---@return trimpoint.Refusal? refusal, boolean? is_shared
local function attempt(may_start)
  if state == "ready" then
    return nil
  end
  if state == "connecting" then
    local refusal = task.await(function(resume)
      waiting[#waiting + 1] = resume
    end)
    return refusal, true
  end
  is_again, was_silent = state == "lost", false
  become("connecting")
  local refusal = reach(may_start)
  if not refusal then
    await_greeting(current --[[@as trimpoint.Peer]])
    refusal = greet()
  end
  if refusal then
    if pipe then
      pipe:close()
    end
    current, pipe = nil, nil
    become("lost")
    settle(refusal)
    try_again_later()
    return refusal
  end
  retry_ms = FIRST_RETRY_MS
  beat(current --[[@as trimpoint.Peer]])
  become("ready")
  settle(nil)
  return nil
end

--- In a task: returns once the daemon is greeted.
---@param options { may_start?: boolean }?
---@return trimpoint.Refusal?
function M.connect(options)
  local may_start = options and options.may_start or false
  is_wanted = true
  local refusal, is_shared
  for _ = 1, MOST_ATTEMPTS do
    refusal, is_shared = attempt(may_start)
    -- One that was shared may start no daemon; and a daemon that ends still takes connections.
    local is_worth_it = refusal and (refusal.reason == "disconnected" or is_shared)
    if not may_start or not is_worth_it or was_silent then
      break
    end
  end
  return refusal
end

--- In a task: asks the daemon; a connection is made first if there is none.
---@param method string
---@param params table?
---@return any result, trimpoint.Refusal? refusal
function M.request(method, params)
  local refusal = M.connect({ may_start = true })
  if refusal then
    return nil, refusal
  end
  return asked(method, params)
end

--- Asks and waits, for what the editor must know at once (completion). Never starts a daemon.
---@param method string
---@param params table
---@param milliseconds integer
---@return any result nil where the answer did not come in time
function M.request_now(method, params, milliseconds)
  local is_over, found = false, nil
  is_held = true
  task.run(function()
    if M.connect() == nil then
      found = asked(method, params)
    end
    is_over = true
  end)
  vim.wait(milliseconds, function()
    return is_over
  end, 5)
  is_held = false
  return found
end

--- Returns whether the editor waits in `request_now`: it lets no text be changed in a completion.
---@return boolean
function M.is_held()
  return is_held
end

---@param id string|integer
---@param result table
function M.answer(id, result)
  if current then
    current:answer(id, result)
  end
end

---@param id string|integer
function M.decline(id)
  if current then
    current:decline(id)
  end
end

--- Returns how the connection is; one that was lost is so until it is there again.
---@return trimpoint.State
function M.state()
  return state == "connecting" and is_again and "lost" or state
end

--- Adds what hears of the connection, for as long as the editor runs.
---@param listener trimpoint.SessionListener
function M.listen(listener)
  listeners[#listeners + 1] = listener
end

--- Ends the connection, and does not come back until something is asked.
function M.close()
  is_wanted = false
  local lost = current
  if pipe then
    pipe:close()
  end
  current, pipe = nil, nil
  if lost then
    lost:close()
  end
  become("idle")
end

return M
