--- Unified diffs, as git writes them, taken apart. Pure.
local M = {}

---@class trimpoint.Hunk
---@field first integer the line of the new file that it begins at, from 1
---@field added integer[] lines of the new file
---@field removed table<integer, string[]> lines that stood before a line of the new file

---@class trimpoint.FileDiff
---@field path string
---@field hunks trimpoint.Hunk[]

---@param line string
---@return string?
local function path_of(line)
  local path = line:match("^%+%+%+ (.*)$")
  return path and path:gsub("\t.*$", ""):gsub('^"(.*)"$', "%1"):gsub("^b/", "")
end

---@param file trimpoint.FileDiff
---@param line string
---@return integer? number of the new file's next line
local function begin_hunk(file, line)
  local first = tonumber(line:match("^@@ %-%d+,?%d* %+(%d+)"))
  if first then
    file.hunks[#file.hunks + 1] = { first = math.max(1, first), added = {}, removed = {} }
  end
  return first
end

---@param hunk trimpoint.Hunk
---@param line string
---@param number integer
---@return integer number of the new file's next line
local function take(hunk, line, number)
  local sign, words = line:sub(1, 1), line:sub(2)
  if sign == "+" then
    table.insert(hunk.added, number)
  elseif sign == "-" then
    hunk.removed[number] = hunk.removed[number] or {}
    table.insert(hunk.removed[number], words)
    return number
  elseif sign ~= " " then
    return number
  end
  return number + 1
end

--- Returns the files that a diff changes; those that it deletes are left out.
---@param diff string
---@return trimpoint.FileDiff[]
function M.files(diff)
  local files, file, number = {}, nil, nil
  for _, line in ipairs(vim.split(diff, "\n", { plain = true })) do
    if line:find("^diff %-%-git ") then
      file, number = nil, nil
    elseif not number and path_of(line) then
      local path = path_of(line)
      file = path ~= "/dev/null" and { path = path, hunks = {} } or nil
      files[#files + 1] = file
    elseif file then
      local first = begin_hunk(file, line)
      number = first or number and take(file.hunks[#file.hunks], line, number)
    end
  end
  return files
end

return M
