--- What a prompt can point at: `@path`, a file of the folder, which the agent reads itself, and
--- `#buffer`, the text of the file that was edited last.
local M = {}

local MOST_FILES, PATIENCE_MS = 50, 1500

---@class trimpoint.Place
---@field word string
---@field menu string

--- Returns the word before the cursor that points at something, and the column where it begins.
---@param before string
---@return string? typed, integer? column from 0
function M.typed_in(before)
  local column, typed = before:match("()([@#]%S*)$")
  if column and (column == 1 or before:sub(column - 1, column - 1):find("%s")) then
    return typed, column - 1
  end
  return nil, nil
end

---@param words string
---@return string[] paths that contain the words; ignored files are left out
local function files(words)
  local command = { "git", "ls-files", "--cached", "--others", "--exclude-standard", "-z" }
  local is_run, process = pcall(vim.system, command, { cwd = vim.fn.getcwd() })
  local found = {}
  for path in (is_run and process:wait(PATIENCE_MS).stdout or ""):gmatch("[^%z]+") do
    if #found < MOST_FILES and path:lower():find(words:lower(), 1, true) then
      found[#found + 1] = path
    end
  end
  return found
end

--- Returns what a word can become. Waits, for as long as a person would.
---@param typed string
---@return trimpoint.Place[]
function M.now(typed)
  if typed:sub(1, 1) == "#" then
    local is_begun = vim.startswith("#buffer", typed)
    return is_begun and { { word = "#buffer", menu = "the file that was edited last" } } or {}
  end
  return vim.tbl_map(function(path)
    return { word = "@" .. path, menu = "file" }
  end, files(typed:sub(2)))
end

return M
