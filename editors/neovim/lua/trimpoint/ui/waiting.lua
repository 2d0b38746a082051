--- What the daemon tells of threads that are not in sight is said; those that wait for a person are
--- counted in the statusline, too.
local chats = require("trimpoint.ui.chat")
local config = require("trimpoint.config")
local overview = require("trimpoint.client.overview")
local say = require("trimpoint.ui.say")
local session = require("trimpoint.client.session")
local task = require("trimpoint.task")
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

---@param notice table of `orchestration/notice`
local function tell(notice)
  local words = ("“%s”: %s"):format(text.one_line(notice.title, 50), notice.said)
  if not config.get().notify then
    return
  end
  if notice.event == "asks" then
    -- A thread that is open here has said so itself.
    if not chats.known()[notice.threadId] then
      say.warning(words .. " :Trimpoint! threads")
    end
  elseif chats.in_sight()[notice.threadId] == false then
    say.info(words)
  end
end

session.listen({
  on_state = function(state)
    if state == "ready" then
      task.run(function()
        session.request("orchestration/subscribeNotices", {}) -- an older daemon has none
      end)
    end
  end,
  on_notification = function(method, params)
    if method == "orchestration/notice" then
      tell(params)
    end
  end,
})

return M
