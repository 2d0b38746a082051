--- Slash commands: the daemon knows and carries them out; here a person is asked before files are
--- written, and told what came of it.
local commands = require("trimpoint.completion.commands")
local choose = require("trimpoint.ui.choose")
local pages = require("trimpoint.ui.pages")
local pickers = require("trimpoint.ui.pickers")
local prompt = require("trimpoint.ui.prompt")
local say = require("trimpoint.ui.say")
local text = require("trimpoint.model.text")

local M = {}

local MOST_PATHS = 12
local LONGEST_ANSWER = 8
local SIGNS = { { "written", "~ " }, { "removed", "- " }, { "kept", "= " } }

---@param files table?
---@return string[]
local function file_lines(files)
  local lines = {}
  for _, pair in ipairs(SIGNS) do
    local paths = files and files[pair[1]] or {}
    for index, path in ipairs(paths) do
      if index > MOST_PATHS then
        lines[#lines + 1] = ("  %s… and %d more"):format(pair[2], #paths - MOST_PATHS)
        break
      end
      lines[#lines + 1] = "  " .. pair[2] .. text.one_line(path, 200)
    end
  end
  return lines
end

---@param outcome table
---@return string
local function words_of(outcome)
  local lines = { outcome.message or "Done." }
  vim.list_extend(lines, file_lines(outcome.files))
  return table.concat(lines, "\n")
end

---@param typed string
---@return boolean
local function writes_files(typed)
  return typed:match("^[/:]revert%f[^%w]") ~= nil and not typed:find("--dry-run", 1, true)
end

--- In a task: says what a command would do, and asks.
---@param chat trimpoint.Chat
---@param typed string
---@return boolean is_confirmed
local function preview(chat, typed)
  local outcome, refusal = chat.talk:execute(typed, true)
  if refusal then
    say.refusal(refusal, chat)
    return false
  end
  if outcome.status ~= "completed" then
    say.in_chat(chat, words_of(outcome), "warning")
    return false
  end
  local yes = "Yes, " .. (typed:match("^[/:](%a+)") or "do it"):lower()
  local chosen, problem = choose.deliberately({ "No, leave everything as it is", yes }, {
    prompt = text.printable(words_of(outcome)),
    kind = "trimpoint_revert",
  })
  if problem then
    say.in_chat(chat, problem, "warning")
  end
  return chosen == yes
end

--- Says what came of it: a page where it is long, as the list of commands is.
---@param chat trimpoint.Chat
---@param outcome table
local function tell(chat, outcome)
  local words = words_of(outcome)
  local lines = text.lines(words)
  if #lines <= LONGEST_ANSWER then
    say.in_chat(chat, words, "done")
    return
  end
  pages.show(
    text.one_line(outcome.command or "command", 20),
    vim.tbl_map(function(line)
      -- Columns that do not fit are none.
      local fits = vim.fn.strdisplaywidth(line) <= vim.o.columns
      return { words = fits and line or (line:gsub("(%S)%s%s%s+", "%1  ")) }
    end, lines),
    "trimpoint_text"
  )
end

---@param chat trimpoint.Chat
---@param outcome table
---@return boolean is_done
local function report(chat, outcome)
  local is_done = outcome.status == "completed"
  if is_done then
    local shown = outcome.newThreadId and chat:go_on_as(outcome.newThreadId) or chat
    if type(outcome.draft) == "table" then -- to be changed where prompts are typed
      local drafted = outcome.draft.accept .. " " .. outcome.draft.text
      local said = outcome.said .. " Change it in the prompt and send it, or delete it there."
      if vim.trim(prompt.text(shown.prompt)) == "" then
        prompt.fill(shown.prompt, drafted)
      else -- what is typed meanwhile stays
        prompt.remember(shown.prompt, drafted)
        said = said .. " It is the newest of the prompts that can be brought back."
      end
      say.in_chat(shown, said, "done")
      return true
    end
    tell(shown, outcome)
    if outcome.files then
      pcall(vim.cmd.checktime)
    end
  else
    say.in_chat(chat, words_of(outcome), "warning")
  end
  return is_done or outcome.status == "skipped"
end

--- In a task: has a command carried out.
---@param chat trimpoint.Chat
---@param typed string
---@param is_sure boolean? do not ask before files are written
---@param asks boolean? say what it would do, and ask, whatever it is
---@return boolean is_handled, boolean is_done
function M.run(chat, typed, is_sure, asks)
  chat:say_nothing()
  local name, switches = commands.unnamed(typed)
  if name and chat.talk.id and not is_sure then
    local number, is_refused = pickers.named[name](chat.talk.id)
    if not number then
      return true, not is_refused
    end
    typed = ("/%s %d%s"):format(name, number, switches)
  end
  if (asks or writes_files(typed)) and not is_sure and not preview(chat, typed) then
    return true, true
  end
  local outcome, refusal = chat.talk:execute(typed)
  if refusal then
    say.refusal(refusal, chat)
    return true, false
  end
  if not outcome.handled then
    return false, false
  end
  return true, report(chat, outcome)
end

return M
