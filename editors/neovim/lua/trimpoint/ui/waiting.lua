--- Threads that wait for a person and are not in sight: said once, and counted in the statusline.
local chats = require("trimpoint.ui.chat")
local config = require("trimpoint.config")
local overview = require("trimpoint.client.overview")
local say = require("trimpoint.ui.say")
local text = require("trimpoint.model.text")

local M = {}

--- Returns how many threads wait, but for those that this tab shows.
---@return integer
function M.count()
  return #overview.waiting(chats.in_sight())
end

---@param thread table
---@return string
local function title_of(thread)
  local title = text.one_line(thread.name or thread.preview or "", 50)
  return title ~= "" and title or vim.fn.fnamemodify(text.one_line(thread.cwd, 100), ":~")
end

overview.listen(function(asking)
  local shown = chats.known()
  for _, thread in ipairs(config.get().notify and asking or {}) do
    -- A thread that is open here has said so itself.
    if not shown[thread.id] then
      say.warning(("“%s” asks. :Trimpoint! threads"):format(title_of(thread)))
    end
  end
  vim.cmd.redrawstatus({ bang = true })
end)

return M
