--- Lists to choose from, by `vim.ui.select`.
local choose = require("trimpoint.ui.choose")
local meter = require("trimpoint.model.meter")
local say = require("trimpoint.ui.say")
local session = require("trimpoint.client.session")
local stretches = require("trimpoint.model.stretches")
local text = require("trimpoint.model.text")
local threads = require("trimpoint.client.threads")

local M = {}

local MINUTE, HOUR, DAY = 60, 3600, 86400

---@param at string RFC 3339 in UTC
---@return string
local function age(at)
  local year, month, day, hour, minute, second = at:match("^(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)")
  if not year then
    return ""
  end
  local here = os.time({
    year = year,
    month = month,
    day = day,
    hour = hour,
    min = minute,
    sec = second,
    isdst = false,
  })
  local seconds = os.time(os.date("!*t") --[[@as osdateparam]]) - here
  if seconds < HOUR then
    return ("%d min ago"):format(math.max(0, seconds) / MINUTE)
  elseif seconds < DAY then
    return ("%d h ago"):format(seconds / HOUR)
  end
  return ("%d d ago"):format(seconds / DAY)
end

---@param thread trimpoint.KnownThread
---@return string
local function thread_line(thread)
  local title = text.one_line(thread.title, 50)
  local parts = {
    thread.state == "asks" and "? asks" or thread.state,
    threads.short_id(thread.id),
    title ~= "" and title or "(nothing said yet)",
    age(thread.updated_at),
  }
  parts[#parts + 1] = thread.archived and "archived" or nil
  parts[#parts + 1] = not thread.is_own and "Codex's own" or nil
  parts[#parts + 1] = thread.context and meter.short(thread.context) or nil
  if threads.place_of(thread.cwd) ~= threads.here() then
    parts[#parts + 1] = vim.fn.fnamemodify(text.one_line(thread.cwd, 200), ":~")
  end
  return table.concat(
    vim.tbl_filter(function(part)
      return part ~= ""
    end, parts),
    "  "
  )
end

--- In a task: has a person choose a thread.
---@param is_everywhere boolean those of all folders, archived ones too
---@return trimpoint.KnownThread?
function M.thread(is_everywhere)
  local known, refusal = threads.own()
  if not known then
    say.refusal(refusal --[[@as trimpoint.Refusal]])
    return nil
  end
  local place = threads.here()
  local all = vim.list_extend(vim.list_extend({}, known), threads.codex(known))
  local shown = vim.tbl_filter(function(thread)
    return is_everywhere or not thread.archived and threads.place_of(thread.cwd) == place
  end, all)
  if #shown == 0 then
    say.info(
      ("There is no thread in %s. :Trimpoint! threads lists those of all folders."):format(place)
    )
    return nil
  end
  local options = { prompt = "Threads", kind = "trimpoint_thread", format_item = thread_line }
  return (choose.from(shown, options))
end

local MOST_KEPT = 20

--- In a task: has a person choose what a clear keeps.
---@param thread_id string
---@return integer? turns nil if nothing is to be cleared, as the first row says
---@return boolean? is_refused
function M.kept(thread_id)
  local found, refusal = session.request("checkpoint/list", { threadId = thread_id })
  if refusal then
    say.refusal(refusal)
    return nil, true
  end
  local active = vim.tbl_filter(function(turn)
    return turn.number > 0 and not turn.trimmed
  end, found.turns)
  local offers = { { words = "Keep everything" } }
  for kept = 1, math.min(MOST_KEPT, #active - 1) do
    local what = kept == 1 and "the last turn" or ("the last %d turns, from"):format(kept)
    local prompt = text.one_line(active[#active + 1 - kept].prompt, 50)
    offers[#offers + 1] = { turns = kept, words = ("Keep %s: %s"):format(what, prompt) }
  end
  offers[#offers + 1] = { turns = 0, words = "Keep nothing" }
  local chosen = choose.from(offers, {
    prompt = "The agent forgets all but what is kept",
    kind = "trimpoint_clear",
    format_item = function(offer)
      return offer.words
    end,
  })
  return chosen and chosen.turns
end

---@param turn table of `checkpoint/list`
---@return string
local function turn_line(turn)
  if turn.number == 0 then
    return "Before the first turn"
  end
  local changed = turn.changed
  local files = changed
    and (
      changed.files == 0 and "no file changed"
      or ("%s, +%d −%d"):format(
        text.counted(changed.files, "file"),
        changed.additions,
        changed.deletions
      )
    )
  local parts = {
    ("After turn %d: %s"):format(turn.number, text.one_line(turn.prompt, 60)),
    files or turn.problem,
  }
  parts[#parts + 1] = turn.trimmed and "not in the context" or nil
  return table.concat(parts, " · ")
end

--- In a task: has a person choose the turn that stays the last one.
---@param thread_id string
---@return integer? number, boolean? is_refused
function M.turn(thread_id)
  local found, refusal = session.request("checkpoint/list", { threadId = thread_id })
  if refusal then
    say.refusal(refusal)
    return nil, true
  end
  local turns = {}
  for index = #found.turns - 1, 1, -1 do
    turns[#turns + 1] = found.turns[index]
  end
  if #turns == 0 then
    say.info("There is no turn to go back to.")
    return nil
  end
  local chosen = choose.from(turns, {
    prompt = "Where do conversation and files go back to?",
    kind = "trimpoint_turn",
    format_item = turn_line,
  })
  return chosen and chosen.number
end

--- In a task: has a person choose what is done with turns to make room.
---@param first integer
---@param last integer
---@param newest integer
---@return string? typed the command
function M.act(first, last, newest)
  local chosen = choose.from(stretches.acts(first, last, newest), {
    prompt = first == last and ("Make room at turn %d"):format(first)
      or ("Make room: turns %d to %d"):format(first, last),
    kind = "trimpoint_room",
    format_item = function(act)
      return act.words
    end,
  })
  return chosen and chosen.typed
end

--- The lists for commands that do not say yet which turns they mean.
---@type table<string, fun(thread_id: string): integer?, boolean?>
M.named = { clear = M.kept, revert = M.turn }

return M
