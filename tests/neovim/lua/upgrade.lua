-- A daemon that is older than the plugin is named once, with what to do.
local session = require("trimpoint.client.session")
local upgrade = require("trimpoint.ui.upgrade")
local task = require("trimpoint.task")

local said, version = {}, nil
session.VERSION = "0.2.0"
session.request = function()
  return version and { version = version } or nil
end
vim.notify = function(words)
  said[#said + 1] = words
end

for _, one in ipairs({ "0.1.9", "0.2.0", "0.3.0", "no version" }) do
  package.loaded["trimpoint.ui.upgrade"] = nil
  version, said = one, {}
  upgrade = require("trimpoint.ui.upgrade")
  task.run(upgrade.look)
  task.run(upgrade.look)
  assert(#said == (one == "0.1.9" and 1 or 0), one)
end
version = "0.1.0"
package.loaded["trimpoint.ui.upgrade"] = nil
task.run(require("trimpoint.ui.upgrade").look)
assert(said[1]:find("0.1.0, this plugin 0.2.0", 1, true))
assert(said[1]:find("trimpoint daemon shutdown --when-idle", 1, true))
