--- Pickers for what a thread works with: the model, and what the agent may do unasked.
local choose = require("trimpoint.ui.choose")
local model = require("trimpoint.model.settings")
local say = require("trimpoint.ui.say")
local session = require("trimpoint.client.session")

local M = {}

local RISKS = {
  dangerFullAccess = "The agent may then write everywhere, and reach the network.",
  never = "What the sandbox does not allow then fails; all else is done unasked.",
}

---@param chat trimpoint.Chat
---@param change table
---@return boolean
local function set(chat, change)
  local refusal = chat.talk:prepare()
  if not refusal then
    local params = vim.tbl_extend("force", { threadId = chat.talk.id }, change)
    refusal = select(2, session.request("thread/settings/update", params))
  end
  if refusal then
    say.refusal(refusal, chat)
  end
  return refusal == nil
end

--- In a task: has a person choose one; what is in force is marked.
---@param title string
---@param offers trimpoint.Offer[]
---@param now any
---@return string? value
local function choice(title, offers, now)
  local chosen = choose.from(offers, {
    prompt = title,
    kind = "trimpoint_setting",
    format_item = function(offer)
      return (offer.value == now and "● " or "  ") .. offer.words
    end,
  })
  return chosen and chosen.value
end

---@param value string
---@param chat trimpoint.Chat
---@return boolean
local function is_meant(value, chat)
  if not RISKS[value] then
    return true
  end
  local chosen, problem = choose.deliberately({ "No, leave it as it is", "Yes, I want that" }, {
    prompt = RISKS[value],
    kind = "trimpoint_risk",
  })
  if problem then
    say.in_chat(chat, problem, "warning")
  end
  return chosen == "Yes, I want that"
end

--- In a task: has a person choose the model and its effort.
---@param chat trimpoint.Chat
function M.model(chat)
  local answer, refusal = session.request("model/list", {})
  if refusal then
    say.refusal(refusal, chat)
    return
  end
  local offers, efforts = model.models(answer)
  local now = chat.talk.settings
  local name = choice("Model", offers, now and now.model)
  if not name then
    return
  end
  local change, offered = { model = name }, efforts[name] or {}
  if #offered > 0 then
    change.effort = choice("Effort", offered, now and now.effort)
    if not change.effort then
      return
    end
  end
  if set(chat, change) then
    say.in_chat(chat, "The next turn has this model: " .. name, "done")
  end
end

--- In a task: has a person choose the sandbox and when the agent asks.
---@param chat trimpoint.Chat
function M.permissions(chat)
  local now = chat.talk.settings
  local sandbox = choice("What the agent may touch", model.SANDBOXES, now and now.sandbox.type)
  local approval = sandbox and choice("When it asks", model.APPROVALS, now and now.approval)
  if not sandbox or not approval then
    return
  end
  local change = { approvalPolicy = approval }
  -- The one that is in force has members of its own, such as writable folders.
  change.sandboxPolicy = now and now.sandbox.type == sandbox and now.sandbox or { type = sandbox }
  for _, pair in ipairs({
    { sandbox, now and now.sandbox.type },
    { approval, now and now.approval },
  }) do
    if pair[1] ~= pair[2] and not is_meant(pair[1], chat) then
      return
    end
  end
  if set(chat, change) then
    say.in_chat(chat, "The permissions are changed, and stay so for this thread.", "done")
  end
end

return M
