--- Says once that the daemon is older than the plugin, and how it is replaced.
local session = require("trimpoint.client.session")
local task = require("trimpoint.task")
local text = require("trimpoint.model.text")

local M = {}

local HOW = "trimpoint: the daemon that runs is %s, this plugin %s. To replace it as soon as no"
  .. " agent works, type in a terminal: trimpoint daemon shutdown --when-idle"
local is_asked = false

--- In a task: asks the daemon once which version it is.
function M.look()
  if is_asked then
    return
  end
  is_asked = true
  local status = session.request("sidecar/status", {})
  local running = vim.version.parse(status and status.version or "")
  if running and vim.version.lt(running, session.VERSION) then
    vim.notify(HOW:format(text.one_line(status.version, 20), session.VERSION), vim.log.levels.WARN)
  end
end

session.listen({
  on_state = function(state)
    if state == "ready" then
      task.run(M.look)
    end
  end,
})

return M
