--- The daemon's commands, as `commands/complete` tells them: one table for every kind of
--- completion.
local session = require("trimpoint.client.session")
local text = require("trimpoint.model.text")

local M = {}

M.PATIENCE_MS = 1500

-- Of a daemon that does not tell which: an older one, or one that does not answer.
local UNTOLD = { clear = { "--force" }, revert = { "--context", "--force" } }

---@class trimpoint.Command
---@field name string
---@field usage string
---@field summary string
---@field details string
---@field asks_with string[]? switches with which it does not say yet which turns it means

---@param answer table?
---@return trimpoint.Command[]
local function shown(answer)
  return vim.tbl_map(function(command)
    return {
      name = text.one_line(command.name, 40):gsub("^[/:]", ""),
      usage = text.one_line(command.usage, 120),
      summary = text.one_line(command.summary, 200),
      details = text.printable(command.details or ""),
      asks_with = command.asksWith,
    }
  end, answer and answer.commands or {})
end

--- Returns the commands that a partly typed input can become. Waits, for as long as a person would;
--- a daemon that does not run is not started for it.
---@param typed string with its slash
---@return trimpoint.Command[]
function M.now(typed)
  return shown(session.request_now("commands/complete", { text = typed }, M.PATIENCE_MS))
end

--- In a task: the same, without holding the editor.
---@param typed string
---@return trimpoint.Command[]
function M.of(typed)
  return shown((session.request("commands/complete", { text = typed })))
end

--- In a task: returns the name and the switches of a command that does not say yet which turns it
--- means.
---@param typed string
---@return string? name, string? switches
function M.unnamed(typed)
  local name, switches = vim.trim(typed):match("^[/:](%a+)(.*)$")
  name = name and name:lower()
  if not UNTOLD[name] then
    return nil
  end
  local may = UNTOLD[name]
  for _, command in ipairs(M.of("/" .. name)) do
    may = command.name == name and command.asks_with or may
  end
  for _, word in ipairs(vim.split(switches, "%s+", { trimempty = true })) do
    if not vim.list_contains(may, word) then
      return nil
    end
  end
  return name, switches
end

return M
