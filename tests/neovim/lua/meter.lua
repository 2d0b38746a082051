-- The meter says how full the context is, what came from the cache, and what is done unasked.
local meter = require("trimpoint.model.meter")

local full = { percent = 12.4, windowTokens = 200000, usedTokens = 24800, level = "ok" }

---@param more table
---@return string
local function long(more)
  return meter.long(vim.tbl_extend("force", full, more))
end

assert(long({}) == "12% of 200,000 tokens")
assert(long({ level = "warning" }) == "12% of 200,000 tokens, warning")
assert(long({ cachedPercent = 96.6 }) == "12% of 200,000 tokens · 97% cached")
assert(long({ auto = { mode = "warn" } }) == "12% of 200,000 tokens", "the default is not said")
assert(long({ auto = { mode = "off", isChosen = true } }):find("· auto off$"))
assert(long({ auto = { mode = "mask" }, cachedPercent = 0 }):find("· 0%% cached · auto mask$"))
assert(meter.long({ unknown = true, usedTokens = 0 }) == "not known yet")
