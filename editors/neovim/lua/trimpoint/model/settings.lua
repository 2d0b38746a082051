--- What a thread works with: its model, and what it may do unasked. Pure.
local text = require("trimpoint.model.text")

local M = {}

---@class trimpoint.Settings
---@field model string
---@field effort? string
---@field sandbox table Codex's sandbox policy
---@field approval any Codex's approval policy

---@class trimpoint.Offer
---@field value string
---@field words string

---@type trimpoint.Offer[]
M.SANDBOXES = {
  { value = "readOnly", words = "Read only" },
  { value = "workspaceWrite", words = "Write in the folder" },
  { value = "dangerFullAccess", words = "No sandbox" },
}
---@type trimpoint.Offer[]
M.APPROVALS = {
  { value = "untrusted", words = "Ask unless known to be safe" },
  { value = "on-request", words = "Ask when the agent wants more" },
  { value = "never", words = "Never ask" },
}

--- Reads the answer to `thread/start` or `thread/resume`, or what `thread/settings/updated` has.
---@param said table?
---@return trimpoint.Settings?
function M.of(said)
  if type(said) ~= "table" then
    return nil
  end
  local sandbox = said.sandboxPolicy or said.sandbox
  return {
    model = type(said.model) == "string" and said.model or "",
    effort = said.effort or said.reasoningEffort,
    sandbox = type(sandbox) == "table" and sandbox or {},
    approval = said.approvalPolicy,
  }
end

--- Reads the answer to `model/list`, without hidden models.
---@param answer table
---@return trimpoint.Offer[] models, table<string, trimpoint.Offer[]> efforts by model
function M.models(answer)
  local offers, efforts = {}, {}
  for _, one in ipairs(text.list(answer.data)) do
    local name = one.model or one.id
    if not one.hidden and type(name) == "string" then
      offers[#offers + 1] = { value = name, words = text.one_line(one.displayName or name, 60) }
      efforts[name] = vim.tbl_map(function(effort)
        local value = text.string(effort.reasoningEffort)
        local about = text.one_line(text.string(effort.description), 60)
        return { value = value, words = value .. (about ~= "" and "  " .. about or "") }
      end, text.list(one.supportedReasoningEfforts))
    end
  end
  return offers, efforts
end

---@param offers trimpoint.Offer[]
---@param value any
---@return string
local function words_of(offers, value)
  for _, offer in ipairs(offers) do
    if offer.value == value then
      return offer.words
    end
  end
  return type(value) == "string" and text.one_line(value, 30) or "as configured"
end

--- Returns the settings in a line.
---@param now trimpoint.Settings?
---@return string
function M.line(now)
  if not now then
    return ""
  end
  local parts = {
    text.one_line(now.model, 40),
    type(now.effort) == "string" and text.one_line(now.effort, 12) or "",
    words_of(M.SANDBOXES, now.sandbox.type):lower(),
    words_of(M.APPROVALS, now.approval):lower(),
  }
  return table.concat(
    vim.tbl_filter(function(part)
      return part ~= ""
    end, parts),
    " · "
  )
end

--- Returns whether nothing holds the agent back.
---@param now trimpoint.Settings?
---@return boolean
function M.is_open(now)
  return now ~= nil and now.sandbox.type == "dangerFullAccess" and now.approval == "never"
end

return M
