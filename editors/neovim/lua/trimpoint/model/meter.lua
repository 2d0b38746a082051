--- The context meter in words. Level and percentage are the daemon's. Pure.
local text = require("trimpoint.model.text")

local M = {}

local ACTS = { mask = true, compact = true }
local GROUPS = { ok = "TrimpointOk", warning = "TrimpointWarning", critical = "TrimpointCritical" }

--- Returns the share of the window that is used, or the tokens where the window is not known.
---@param context table? of `context/status`
---@return string
function M.short(context)
  if context == nil or (context.unknown and context.usedTokens == 0) then
    return ""
  end
  local about = context.estimated and "~" or ""
  if context.percent then
    return ("%s%d%%"):format(about, math.floor(context.percent + 0.5))
  end
  return ("%s%s tokens"):format(about, text.thousands(context.usedTokens))
end

---@param context table
---@return string
local function fullness(context)
  local short = M.short(context)
  if short == "" then
    return "not known yet"
  end
  if context.percent and context.windowTokens then
    local level = context.level ~= "ok" and context.level and ", " .. context.level or ""
    return ("%s of %s tokens%s"):format(short, text.thousands(context.windowTokens), level)
  end
  return short
end

--- Returns the meter of a whole line: how full, how much of the last call came from the provider's
--- cache, and what is done without being asked, where that is more than a warning.
---@param context table
---@return string
function M.long(context)
  local parts = { fullness(context) }
  if context.cachedPercent then
    parts[2] = ("%d%% cached"):format(math.floor(context.cachedPercent + 0.5))
  end
  local auto = context.auto
  if auto and auto.mode and (auto.isChosen or ACTS[auto.mode]) then
    parts[#parts + 1] = "auto " .. auto.mode
  end
  return table.concat(parts, " · ")
end

--- Returns the highlight group of the level.
---@param context table?
---@return string
function M.group(context)
  return context and GROUPS[context.level or ""] or "TrimpointQuiet"
end

return M
