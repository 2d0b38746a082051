--- What the running turn has said so far, by Codex's notifications; gone once the daemon has
--- recorded it. Pure.
local text = require("trimpoint.model.text")

local M = {}

---@class trimpoint.LiveItem
---@field id string
---@field turnId string
---@field kind "message"|"activity"
---@field role string
---@field parts string[] the text in the pieces in which it came
---@field output string[]
---@field detail table
---@field is_done boolean

---@class trimpoint.Live
---@field items trimpoint.LiveItem[]
---@field by_id table<string, trimpoint.LiveItem>
---@field notice string what Codex says of a retry

local MESSAGES = { agentMessage = "assistant", userMessage = "user" }

---@return trimpoint.Live
function M.new()
  return { items = {}, by_id = {}, notice = "" }
end

---@param parts any
---@param separator string
---@return string
local function joined(parts, separator)
  local words = {}
  for _, part in ipairs(text.list(parts)) do
    if type(part) == "table" then
      part = part.text or ("[%s]"):format(text.string(part.type))
    end
    words[#words + 1] = text.string(part)
  end
  return table.concat(words, separator)
end

---@param item table
---@return string
local function text_of(item)
  if item.type == "userMessage" then
    return joined(item.content, "\n")
  elseif item.type == "reasoning" then
    local parts = vim.list_extend({}, text.list(item.summary))
    return joined(vim.list_extend(parts, text.list(item.content)), "\n\n")
  elseif item.type == "commandExecution" then
    return text.string(item.command)
  end
  return text.string(item.text)
end

---@param live trimpoint.Live
---@param id string
---@return boolean
function M.forget(live, id)
  if not live.by_id[id] then
    return false
  end
  live.by_id[id] = nil
  live.items = vim.tbl_filter(function(item)
    return item.id ~= id
  end, live.items)
  return true
end

---@param live trimpoint.Live
---@param params table
---@param is_done boolean
local function note_item(live, params, is_done)
  local item = text.object(params.item)
  if type(item.id) ~= "string" then
    return
  end
  local known = live.by_id[item.id]
  if is_done and item.type == "contextCompaction" then
    -- The history says whose compaction it was.
    M.forget(live, item.id)
    return
  end
  local words = text_of(item)
  local fresh = {
    id = item.id,
    turnId = params.turnId,
    kind = MESSAGES[text.string(item.type)] and "message" or "activity",
    role = MESSAGES[text.string(item.type)] or text.string(item.type),
    parts = words ~= "" and { words } or known and known.parts or {},
    output = known and known.output or {},
    detail = item,
    is_done = is_done,
  }
  live.notice = ""
  live.by_id[item.id] = fresh
  if known then
    for index, other in ipairs(live.items) do
      if other == known then
        live.items[index] = fresh
      end
    end
  else
    live.items[#live.items + 1] = fresh
  end
end

--- Takes in what a running turn has said so far, by the daemon's account.
---@param live trimpoint.Live
---@param said { turnId: string, item: table }[]?
function M.take(live, said)
  for _, one in ipairs(said or {}) do
    note_item(live, one, false)
    local item = live.by_id[one.item.id]
    if item then
      local output = one.item.aggregatedOutput
      item.parts = { text_of(one.item) }
      item.output = type(output) == "string" and { output } or {}
    end
  end
end

---@param live trimpoint.Live
---@param params table
---@param member "parts"|"output"
local function append(live, params, member)
  local item = live.by_id[text.string(params.itemId)]
  if item and type(params.delta) == "string" then
    table.insert(item[member], params.delta)
  end
end

--- What was finished is on its way as an event; of the rest, what was said is kept.
---@param live trimpoint.Live
local function end_turn(live)
  live.notice = ""
  for _, item in ipairs(live.items) do
    if not item.is_done and item.kind == "message" and #item.parts > 0 then
      item.is_done = true
    elseif not item.is_done then
      live.by_id[item.id] = nil
    end
  end
  live.items = vim.tbl_filter(function(item)
    return item.is_done
  end, live.items)
end

---@type table<string, fun(live: trimpoint.Live, params: table)>
local NOTES = {
  ["item/started"] = function(live, params)
    note_item(live, params, false)
  end,
  ["item/completed"] = function(live, params)
    note_item(live, params, true)
  end,
  ["item/agentMessage/delta"] = function(live, params)
    append(live, params, "parts")
  end,
  ["item/plan/delta"] = function(live, params)
    append(live, params, "parts")
  end,
  ["item/reasoning/summaryTextDelta"] = function(live, params)
    append(live, params, "parts")
  end,
  ["item/reasoning/textDelta"] = function(live, params)
    append(live, params, "parts")
  end,
  ["item/commandExecution/outputDelta"] = function(live, params)
    append(live, params, "output")
  end,
  ["turn/started"] = function(live)
    live.notice = ""
  end,
  ["turn/completed"] = end_turn,
  ["error"] = function(live, params)
    local said = text.string(text.object(params.error).message)
    said = said ~= "" and text.words_of_error(said) or "The model did not answer"
    live.notice = params.willRetry and said .. "; trying again …" or ""
  end,
}

--- Takes a notification of Codex in.
---@param live trimpoint.Live
---@param method string
---@param params table
---@return boolean whether anything changed
function M.note(live, method, params)
  local take = NOTES[method]
  if take then
    take(live, params)
  end
  return take ~= nil
end

--- Returns an item as an entry of the timeline.
---@param item trimpoint.LiveItem
---@return table
function M.entry(item)
  local words = table.concat(item.parts)
  local detail = item.detail
  if #item.output > 0 then
    detail = vim.tbl_extend("force", {}, detail, { aggregatedOutput = table.concat(item.output) })
  end
  return {
    kind = item.kind,
    id = item.id,
    turnId = item.turnId,
    role = item.role,
    activity = item.role,
    text = words,
    title = words,
    detail = detail,
    trimmed = false,
    is_live = not item.is_done,
  }
end

return M
