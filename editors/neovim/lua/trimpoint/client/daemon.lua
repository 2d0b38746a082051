--- Where the daemon is, and how it is started: the `trimpoint` program knows both, so it is asked.
local config = require("trimpoint.config")
local task = require("trimpoint.task")

local M = {}

---@type string?
local known_socket

---@param words string[]
---@return string[]
local function command(words)
  local settings = config.get()
  local all = { settings.program }
  if settings.socket then
    vim.list_extend(all, { "--socket", vim.fs.normalize(settings.socket) })
  end
  return vim.list_extend(all, words)
end

---@param output string
---@return string
local function words_of(output)
  local text = vim.trim((output:gsub("^✗ ", "")))
  return text ~= "" and text or "It gave no reason."
end

---@param failure { code: integer, stderr: string }
---@return trimpoint.Refusal
local function refusal(failure)
  local program = config.get().program
  if vim.fn.executable(program) == 0 then
    return {
      message = ("The program %q was not found."):format(program),
      reason = "no_program",
      hint = "Install trimpoint, or name it: vim.g.trimpoint = { program = … }.",
    }
  end
  return {
    message = words_of(failure.stderr),
    reason = "program_failed",
    hint = ":checkhealth trimpoint",
  }
end

--- In a task: returns the path of the daemon's socket, whether it runs or not.
---@param is_fresh boolean? ask the program again
---@return string? path, trimpoint.Refusal? refusal
function M.socket(is_fresh)
  local named = config.get().socket
  if named then
    return vim.fs.normalize(named), nil
  end
  if known_socket and not is_fresh then
    return known_socket, nil
  end
  local done = task.system(command({ "config", "socket" }))
  if done.code ~= 0 then
    return nil, refusal(done)
  end
  known_socket = vim.trim(done.stdout)
  return known_socket, nil
end

--- In a task: has the program start a daemon if none runs. Any command that needs one does; this is
--- the smallest.
---@return trimpoint.Refusal?
function M.start()
  local done = task.system(command({ "probe", "sidecar/status" }))
  if done.code ~= 0 then
    return refusal(done)
  end
  return nil
end

return M
