-- A command that names no turn is asked about, also where the daemon does not tell which those are.
local commands = require("trimpoint.completion.commands")
local session = require("trimpoint.client.session")
local task = require("trimpoint.task")

local answer ---@type table?
session.request = function()
  return answer
end

---@param typed string
---@return string? name, string? switches
local function unnamed(typed)
  local name, switches
  task.run(function()
    name, switches = commands.unnamed(typed)
  end)
  return name, switches
end

---@param asks_with string[]?
local function listed(asks_with)
  return { commands = { { name = "clear", usage = "", summary = "", asksWith = asks_with } } }
end

local NONE_OF_THEM = { "/clear 3", "/clear --dry-run", "/clear 4..6", "/compact", "and /clear", "/c" }
local WITHOUT = { listed(), { commands = {} }, false }
for _, daemon in ipairs({ listed({ "--force" }), unpack(WITHOUT) }) do
  answer = daemon or nil
  for _, typed in ipairs({ "/clear", ":clear", " /CLEAR\n" }) do
    assert(unnamed(typed) == "clear", typed)
  end
  local name, switches = unnamed("/clear --force")
  assert(name == "clear" and switches == " --force")
  for _, typed in ipairs(NONE_OF_THEM) do
    assert(unnamed(typed) == nil, typed)
  end
end
for _, daemon in ipairs(WITHOUT) do
  answer = daemon or nil
  assert(unnamed("/revert --context --force") == "revert")
  assert(unnamed("/revert --undo") == nil)
end
