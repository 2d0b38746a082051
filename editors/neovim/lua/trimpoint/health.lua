--- `:checkhealth trimpoint`: what is there, what is wrong, and what to do.
local config = require("trimpoint.config")
local daemon = require("trimpoint.client.daemon")
local session = require("trimpoint.client.session")
local task = require("trimpoint.task")
local text = require("trimpoint.model.text")

local M = {}

local PATIENCE_MS = 20000

---@class trimpoint.Findings
---@field version? string of the program
---@field problem? trimpoint.Refusal
---@field socket? string
---@field status? table
---@field account? table

---@param found trimpoint.Findings
local function ask_program(found)
  local done = task.system({ config.get().program, "--version" })
  found.version = done.code == 0 and vim.trim(done.stdout):match("^[^\n]*") or nil
end

---@param found trimpoint.Findings
local function ask_daemon(found)
  found.socket, found.problem = daemon.socket(true)
  found.problem = found.problem or session.connect()
  if not found.problem then
    found.status, found.problem = session.request("sidecar/status", {})
    found.account = session.request("account/read", { refreshToken = false })
  end
end

--- Asks both at once, for each starts a program or a connection.
---@return trimpoint.Findings
local function gather()
  local found, waiting = {}, 2
  for _, ask in ipairs({ ask_program, ask_daemon }) do
    task.run(function()
      ask(found)
      waiting = waiting - 1
    end)
  end
  vim.wait(PATIENCE_MS, function()
    return waiting == 0
  end, 20)
  return found
end

---@param found trimpoint.Findings
local function report_codex(found)
  local codex = found.status.codex
  local version = codex.version and " " .. text.one_line(codex.version, 40) or ""
  local words = ("Codex%s at %s: %s"):format(version, text.one_line(codex.path, 200), codex.state)
  if codex.state == "unavailable" then
    vim.health.error(
      words .. ". " .. text.one_line(codex.problem or "", 300),
      { "Run: trimpoint doctor" }
    )
  else
    vim.health.ok(words)
  end
  local account = found.account
  if account and account.requiresOpenaiAuth and account.account == nil then
    vim.health.error("Codex is not logged in", { "Run in a terminal: trimpoint login" })
  elseif account then
    vim.health.ok("Codex needs no login, or has one")
  end
end

---@param found trimpoint.Findings
local function report_daemon(found)
  if found.status then
    local status = found.status
    vim.health.ok(
      ("The daemon %s answers at %s (pid %d)"):format(status.version, found.socket, status.pid)
    )
    report_codex(found)
  elseif found.problem and found.problem.reason == "no_daemon" then
    vim.health.info(("No daemon answers at %s; :Trimpoint chat starts one"):format(found.socket))
  elseif found.problem then
    vim.health.error(
      text.one_line(found.problem.message, 500),
      { found.problem.hint or "Run: trimpoint doctor" }
    )
  else
    vim.health.error(
      "The daemon has not answered in time",
      { "Run in a terminal: trimpoint doctor" }
    )
  end
end

---@param found trimpoint.Findings
local function report_program(found)
  local program = config.get().program
  if vim.fn.executable(program) == 0 then
    vim.health.error(("The program %q was not found"):format(program), {
      "Install it: pip install trimpoint (or: uv tool install trimpoint)",
      "Or set its path: vim.g.trimpoint = { program = '/path/to/trimpoint' }",
      "Neovim sees the PATH that it was started with: " .. (vim.env.PATH or ""),
    })
  elseif found.version then
    vim.health.ok(("%s at %s"):format(found.version, vim.fn.exepath(program)))
  else
    vim.health.error(
      ("%q does not run"):format(program),
      { "Run in a terminal: trimpoint --version" }
    )
  end
end

local function report_settings()
  if vim.g.trimpoint ~= nil and type(vim.g.trimpoint) ~= "table" then
    vim.health.error("vim.g.trimpoint is no table", { ":help trimpoint-settings" })
    return
  end
  local problems = config.problems(vim.g.trimpoint or {})
  for _, problem in ipairs(problems) do
    vim.health.error(problem, { ":help trimpoint-settings" })
  end
  if #problems == 0 then
    vim.health.ok("The settings are right")
  end
end

local function report_editor()
  if vim.fn.has("nvim-0.10") == 0 then
    vim.health.error(
      "Neovim is older than 0.10",
      { "Take a newer one: this plugin needs vim.system and vim.fs.root" }
    )
    return
  end
  vim.health.ok(("Neovim %s"):format(tostring(vim.version())))
  local is_there, parser = pcall(vim.treesitter.language.inspect, "markdown")
  if is_there and parser then
    vim.health.ok("Answers are coloured: the parser for Markdown is there")
  else
    vim.health.warn(
      "There is no parser for Markdown, so answers are plain",
      { "Install it with nvim-treesitter" }
    )
  end
end

--- Checks.
function M.check()
  vim.health.start("trimpoint")
  report_editor()
  if vim.fn.has("nvim-0.10") == 0 then
    return
  end
  report_settings()
  local found = gather()
  report_program(found)
  if found.version then
    report_daemon(found)
  end
end

return M
