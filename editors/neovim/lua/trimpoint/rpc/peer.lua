--- JSON-RPC as the daemon speaks it: lines in, calls out. Pure: what carries the bytes is given to
--- it.
local framing = require("trimpoint.rpc.framing")
local utf8 = require("trimpoint.rpc.utf8")

local M = {}

local NOT_ME = -32601

---@class trimpoint.Refusal
---@field message string a sentence for a person
---@field reason? string one of the reasons in docs/protocol.md, or `disconnected`
---@field hint? string
---@field data? table

---@class trimpoint.Listener
---@field on_notification fun(method: string, params: table)
---@field on_question fun(id: string|integer, method: string, params: table)

---@alias trimpoint.Answer fun(refusal: trimpoint.Refusal?, result: any)

---@class trimpoint.Peer
---@field private _send fun(bytes: string)
---@field private _listener trimpoint.Listener
---@field private _lines trimpoint.Lines
---@field private _waiting table<integer, trimpoint.Answer>
---@field private _last integer
---@field private _closed boolean
local Peer = {}
Peer.__index = Peer

--- Returns one end of a connection.
---@param send fun(bytes: string)
---@param listener trimpoint.Listener
---@return trimpoint.Peer
function M.new(send, listener)
  return setmetatable({
    _send = send,
    _listener = listener,
    _lines = framing.new(),
    _waiting = {},
    _last = 0,
    _closed = false,
  }, Peer)
end

--- Sends a request; `answer` is called once, with a refusal or a result.
---@param method string
---@param params table?
---@param answer trimpoint.Answer
function Peer:request(method, params, answer)
  if self._closed then
    answer(M.disconnected(), nil)
    return
  end
  self._last = self._last + 1
  self._waiting[self._last] = answer
  self:_write({ id = self._last, method = method, params = M.object(params) })
end

--- Sends a notification.
---@param method string
function Peer:notify(method)
  self:_write({ method = method })
end

--- Answers a question of the agent.
---@param id string|integer
---@param result table
function Peer:answer(id, result)
  self:_write({ id = id, result = result })
end

--- Leaves a question to other clients.
---@param id string|integer
function Peer:decline(id)
  self:_write({
    id = id,
    error = { code = NOT_ME, message = "This client does not answer requests of this kind." },
  })
end

--- Takes bytes that have come. A message that cannot be taken in costs no other: its fault is
--- raised when all are.
---@param bytes string
function Peer:receive(bytes)
  local fault
  for _, line in ipairs(self._lines:push(bytes)) do
    local is_json, message =
      pcall(vim.json.decode, line, { luanil = { object = true, array = true } })
    if is_json and type(message) == "table" then
      local is_taken, problem = xpcall(self._dispatch, debug.traceback, self, message)
      fault = fault or not is_taken and problem or nil
    end
  end
  if fault then
    error(fault, 0)
  end
end

--- Answers all that waits: the connection is gone.
function Peer:close()
  self._closed = true
  local waiting = self._waiting
  self._waiting = {}
  for _, answer in pairs(waiting) do
    answer(M.disconnected(), nil)
  end
end

---@private
function Peer:_dispatch(message)
  if message.method and message.id ~= nil then
    self._listener.on_question(message.id, message.method, message.params or {})
  elseif message.method then
    self._listener.on_notification(message.method, message.params or {})
  else
    local answer = self._waiting[message.id]
    if answer then
      self._waiting[message.id] = nil
      answer(M.refusal(message.error), message.result)
    end
  end
end

---@private
function Peer:_write(message)
  if not self._closed then
    self._send(utf8.repaired(vim.json.encode(message)) .. "\n")
  end
end

--- Returns a table that is encoded as an object, also where it is empty.
---@param params table?
---@return table
function M.object(params)
  if params == nil or next(params) == nil then
    return vim.empty_dict()
  end
  return params
end

--- Returns the refusal that an error object stands for.
---@param failure table?
---@return trimpoint.Refusal?
function M.refusal(failure)
  if failure == nil then
    return nil
  end
  local data = type(failure.data) == "table" and failure.data or {}
  local message = type(failure.message) == "string" and failure.message
    or "The daemon refused it without a word."
  return { message = message, reason = data.reason, hint = data.hint, data = data }
end

--- Returns the refusal of what was under way when the connection was lost.
---@return trimpoint.Refusal
function M.disconnected()
  return {
    message = "The connection to the trimpoint daemon was lost.",
    reason = "disconnected",
    hint = "It is tried again; :checkhealth trimpoint says what is wrong.",
  }
end

return M
