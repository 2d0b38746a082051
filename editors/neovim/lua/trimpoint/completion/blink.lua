--- A source for blink.cmp.
local commands = require("trimpoint.completion.commands")
local task = require("trimpoint.task")

---@class trimpoint.BlinkSource
local Source = {}
Source.__index = Source

---@return trimpoint.BlinkSource
function Source.new()
  return setmetatable({}, Source)
end

---@return boolean
function Source:enabled()
  return vim.bo.filetype == "trimpoint_prompt"
end

---@return string[]
function Source:get_trigger_characters()
  return { "/", ":" }
end

--- Calls back with the commands that the first line can become.
---@param context { line: string, cursor: integer[] } line from 1 and column from 0
---@param callback fun(response: table)
function Source:get_completions(context, callback)
  local before = context.line:sub(1, context.cursor[2])
  if context.cursor[1] ~= 1 or not before:match("^[/:]%a*$") then
    callback({ items = {}, is_incomplete_forward = false, is_incomplete_backward = false })
    return
  end
  task.run(function()
    local sign, items = before:sub(1, 1), {}
    for _, command in ipairs(commands.of(before)) do
      local word = sign .. command.name
      items[#items + 1] = {
        label = word,
        kind = vim.lsp.protocol.CompletionItemKind.Function,
        labelDetails = { description = command.summary },
        documentation = {
          kind = "plaintext",
          value = ("%s\n\n%s"):format(command.usage, command.details),
        },
        textEdit = {
          newText = word,
          range = {
            start = { line = 0, character = 0 },
            ["end"] = { line = 0, character = #before },
          },
        },
      }
    end
    callback({ items = items, is_incomplete_forward = true, is_incomplete_backward = true })
  end)
end

return Source
