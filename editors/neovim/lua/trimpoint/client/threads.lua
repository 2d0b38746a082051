--- Which thread a person means. A thread belongs to a place: the git work tree of its folder, else
--- the folder itself; the command line means the same by "here".
local peer = require("trimpoint.rpc.peer")
local session = require("trimpoint.client.session")

local M = {}

-- Sub-agents and reviews are threads to Codex, and no conversations of a person's.
local SOURCES = { "cli", "vscode", "exec", "appServer", "unknown" }
local SHORT_ID_CHARS = 8

---@class trimpoint.KnownThread
---@field id string
---@field title string its name, else how its first prompt begins
---@field cwd string
---@field archived boolean
---@field is_own boolean trimpoint has it in its books; else Codex alone knows it
---@field updated_at string
---@field context? table
---@field state string what is under way: asks, working or nothing

---@param thread_id string
---@return string
function M.short_id(thread_id)
  return thread_id:sub(-SHORT_ID_CHARS)
end

---Whether git takes a `.git` for a repository: an empty folder, as a killed sandbox of Codex leaves
---behind, is none.
---@param path string
---@return boolean
local function is_repository(path)
  local function has(kind, name)
    local facts = vim.uv.fs_stat(path .. name)
    return facts ~= nil and facts.type == kind
  end
  local has_folders = has("directory", "/objects") and has("directory", "/refs")
  return has("file", "") or has_folders and vim.uv.fs_lstat(path .. "/HEAD") ~= nil
end

---@param folder string
---@return string
function M.place_of(folder)
  local real = vim.uv.fs_realpath(folder) or folder
  local ceilings = {}
  for named in vim.gsplit(vim.env.GIT_CEILING_DIRECTORIES or "", ":", { trimempty = true }) do
    ceilings[vim.uv.fs_realpath(named) or named] = true
  end
  local at = real
  while not is_repository(vim.fs.joinpath(at, ".git")) do
    local above = vim.fs.dirname(at)
    if above == at or ceilings[above] then
      return real
    end
    at = above
  end
  return at
end

---@return string
function M.here()
  return M.place_of(vim.fn.getcwd())
end

---@param row table
---@return trimpoint.KnownThread
local function own(row)
  return {
    id = row.id,
    title = row.name or row.preview or "",
    cwd = row.cwd,
    archived = row.archived,
    is_own = true,
    updated_at = row.updatedAt,
    context = row.context,
    state = row.asks and "asks" or row.busy and "working" or "",
  }
end

---@param row table
---@return trimpoint.KnownThread
local function codex_own(row)
  local at = tonumber(row.updatedAt) or 0
  return {
    id = row.id,
    title = row.name or row.preview or "",
    cwd = row.cwd or "",
    archived = false,
    is_own = false,
    state = "",
    updated_at = os.date("!%Y-%m-%dT%H:%M:%SZ", at) --[[@as string]],
  }
end

--- In a task: trimpoint's threads, the last used one first.
---@return trimpoint.KnownThread[]? threads, trimpoint.Refusal? refusal
function M.own()
  local answer, refusal = session.request("orchestration/snapshot", {})
  if refusal then
    return nil, refusal
  end
  return vim.tbl_map(own, answer.threads or {}), nil
end

--- In a task: the newest conversations that Codex alone knows; none where Codex cannot be asked.
---@param known trimpoint.KnownThread[]
---@return trimpoint.KnownThread[]
function M.codex(known)
  local ids = {}
  for _, thread in ipairs(known) do
    ids[thread.id] = true
  end
  local params = {
    sourceKinds = SOURCES,
    modelProviders = {},
    limit = 100,
    archived = false,
    sortKey = "updated_at",
  }
  local page = session.request("thread/list", params) or {}
  local found = {}
  for _, row in ipairs(page.data or {}) do
    if not ids[row.id] then
      found[#found + 1] = codex_own(row)
    end
  end
  return found
end

---@param threads trimpoint.KnownThread[]
---@param place string
---@return trimpoint.KnownThread?
local function first_at(threads, place)
  for _, thread in ipairs(threads) do
    if not thread.archived and M.place_of(thread.cwd) == place then
      return thread
    end
  end
  return nil
end

--- In a task: the thread of a place that was used last: of trimpoint's, else of Codex's own.
---@param place string
---@return trimpoint.KnownThread? thread, trimpoint.Refusal? refusal
function M.last_at(place)
  local threads, refusal = M.own()
  if not threads then
    return nil, refusal
  end
  return first_at(threads, place) or first_at(M.codex(threads), place), nil
end

--- In a task: begins a thread; the answer has its settings, too.
---@param cwd string
---@return table? answer, trimpoint.Refusal? refusal
function M.start(cwd)
  return session.request("thread/start", { cwd = cwd })
end

--- In a task: takes part in a thread, so that its answers and questions come here. A thread that
--- Codex alone knew is adopted by it. The answer has its settings.
---@param thread_id string
---@return table? answer, trimpoint.Refusal? refusal
function M.join(thread_id)
  return session.request("thread/resume", { threadId = thread_id, excludeTurns = true })
end

--- Returns the refusal of what needs a thread where there is none.
---@param cwd string
---@return trimpoint.Refusal
function M.no_thread(cwd)
  local hint = ":Trimpoint chat begins one with your first prompt."
  return vim.tbl_extend("force", peer.disconnected(), {
    message = ("There is no thread yet in %s."):format(cwd),
    reason = "thread_not_found",
    hint = hint,
  })
end

return M
