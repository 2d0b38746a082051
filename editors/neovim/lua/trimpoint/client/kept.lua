--- Drafts on disk, so that they survive the editor: a small file for each thread, which only its
--- owner can read.
local M = {}

local OWNER_ONLY, OWNERS_FOLDER = 384, 448 -- 0600, 0700

---@return string
local function folder()
  return vim.fs.joinpath(vim.fn.stdpath("state") --[[@as string]], "trimpoint", "drafts")
end

---@param name string
---@return string
local function path_of(name)
  return vim.fs.joinpath(folder(), vim.fn.sha256(name):sub(1, 32) .. ".json")
end

---@param path string
---@return string?
local function content_of(path)
  local file = io.open(path, "rb")
  if not file then
    return nil
  end
  local content = file:read("*a")
  file:close()
  return content
end

--- Returns the draft of a thread, nil where there is none or it cannot be read.
---@param name string
---@return trimpoint.Draft?
function M.read(name)
  local content = content_of(path_of(name))
  local is_json, found = pcall(vim.json.decode, content or "")
  if not is_json or type(found) ~= "table" or type(found.text) ~= "string" then
    return nil
  end
  local sending = vim.tbl_filter(function(one)
    return type(one) == "table" and type(one.id) == "string" and type(one.text) == "string"
  end, type(found.sending) == "table" and found.sending or {})
  return { text = found.text, sending = sending }
end

---@param path string
---@param content string
---@return string? problem
local function write(path, content)
  vim.fn.mkdir(folder(), "p", OWNERS_FOLDER)
  local fresh = ("%s.%d"):format(path, vim.uv.os_getpid())
  local file, problem = vim.uv.fs_open(fresh, "w", OWNER_ONLY)
  if not file then
    return problem
  end
  local written, fault = vim.uv.fs_write(file, content)
  vim.uv.fs_close(file)
  if written == #content then
    fault = select(2, vim.uv.fs_rename(fresh, path))
  end
  return fault
end

--- Keeps the draft of a thread; an empty one is removed.
---@param name string
---@param draft trimpoint.Draft
---@return string? problem
function M.write(name, draft)
  if draft.text == "" and #draft.sending == 0 then
    vim.uv.fs_unlink(path_of(name))
    return nil
  end
  local is_written, problem = pcall(write, path_of(name), vim.json.encode(draft))
  return problem and tostring(problem) or not is_written and "it cannot be written" or nil
end

return M
