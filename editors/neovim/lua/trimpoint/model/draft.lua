--- What a person has typed for a thread, and what of it is on its way. Pure.
---
--- A prompt stays where it was typed until the daemon has acknowledged it; what is typed behind it
--- meanwhile stays when it goes.
local M = {}

---@class trimpoint.Outgoing
---@field id string the daemon takes a prompt once under its id
---@field text string as it was typed
---@field words string as it is sent, with what it points at
---@field mode "enter"|"queue" whether it goes into a turn that runs
---@field is_typed boolean whether it stands in the prompt

---@class trimpoint.Draft
---@field text string
---@field sending trimpoint.Outgoing[]

--- Returns how many bytes of `text` a prompt takes that it begins with, and the blanks around that;
--- nil where it does not begin so.
---@param text string
---@param sent string
---@return integer?
function M.length_of(text, sent)
  local first = text:find("%S")
  if not first or sent == "" or text:sub(first, first + #sent - 1) ~= sent then
    return nil
  end
  return (text:find("%S", first + #sent) or #text + 1) - 1
end

--- Returns what was typed behind what is on its way.
---@param text string
---@param sending trimpoint.Outgoing[]
---@return string
function M.unsent(text, sending)
  for _, one in ipairs(sending) do
    text = text:sub((M.length_of(text, one.text) or 0) + 1)
  end
  return vim.trim(text)
end

--- Returns the text of a draft that was kept, with what was on its way in it.
---@param kept trimpoint.Draft
---@return string
function M.whole(kept)
  local text = kept.text
  for index = #kept.sending, 1, -1 do
    local sent = kept.sending[index].text
    if not text:find(sent, 1, true) then
      text = vim.trim(sent .. "\n" .. text)
    end
  end
  return text
end

return M
