--- A source for blink.cmp.
local commands = require("trimpoint.completion.commands")
local places = require("trimpoint.completion.places")
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
  return { "/", ":", "@", "#" }
end

---@param context { cursor: integer[] }
---@param from integer
---@return table range that a word takes
local function range(context, from)
  local line = context.cursor[1] - 1
  return {
    start = { line = line, character = from },
    ["end"] = { line = line, character = context.cursor[2] },
  }
end

--- Returns the files and buffers that a word can become.
---@param context { cursor: integer[] }
---@param typed string
---@param column integer
---@return table[]
local function place_items(context, typed, column)
  return vim.tbl_map(function(place)
    return {
      label = place.word,
      kind = vim.lsp.protocol.CompletionItemKind.File,
      labelDetails = { description = place.menu },
      textEdit = { newText = place.word, range = range(context, column) },
    }
  end, places.now(typed))
end

--- Calls back with the commands that the first line can become, or the places of a word.
---@param context { line: string, cursor: integer[] } line from 1 and column from 0
---@param callback fun(response: table)
function Source:get_completions(context, callback)
  local before = context.line:sub(1, context.cursor[2])
  if context.cursor[1] ~= 1 or not before:match("^[/:]%a*$") then
    local typed, column = places.typed_in(before)
    local items = typed and place_items(context, typed, column) or {}
    callback({
      items = items,
      is_incomplete_forward = #items > 0,
      is_incomplete_backward = #items > 0,
    })
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
        textEdit = { newText = word, range = range(context, 0) },
      }
    end
    callback({ items = items, is_incomplete_forward = true, is_incomplete_backward = true })
  end)
end

return Source
