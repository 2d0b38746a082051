--- The keys of a history.
local choose = require("trimpoint.ui.choose")
local model = require("trimpoint.model.thread")
local pickers = require("trimpoint.ui.pickers")
local places = require("trimpoint.ui.places")
local slash = require("trimpoint.ui.slash")
local say = require("trimpoint.ui.say")
local task = require("trimpoint.task")
local text = require("trimpoint.model.text")
local windows = require("trimpoint.ui.windows")

local M = {}

---@return trimpoint.Chat?
local function chat_here()
  return require("trimpoint.ui.chat").of_buffer(vim.api.nvim_get_current_buf())
end

local function toggle_fold()
  if vim.fn.foldlevel(".") > 0 then
    vim.cmd.normal({ "za", bang = true })
  end
end

---@type table<string, fun(chat: trimpoint.Chat, block: trimpoint.Block)>
local ACTS = {
  older = function(chat)
    task.run(function()
      chat.talk:load_older()
    end)
  end,
  answer = function(chat)
    task.run(function()
      require("trimpoint.ui.questions").ask(chat)
    end)
  end,
  again = function(chat, block)
    local prompt = model.prompt_of(chat.talk.thread, block.turn_id)
    if prompt then
      chat:send(prompt)
    else
      say.info("The prompt of this turn is not loaded.")
    end
  end,
  queued = function(chat, block)
    task.run(function()
      require("trimpoint.ui.queue").ask(chat, block.prompt_id)
    end)
  end,
  thread = function(chat, block)
    chat:go_on_as(block.thread_id)
  end,
}

--- Does what the line under the cursor stands for; on a fold, opens or closes it.
local function enter()
  local chat = chat_here()
  local block = chat and chat.canvas:at(vim.api.nvim_win_get_cursor(0)[1] - 1)
  if chat and block and block.act then
    ACTS[block.act](chat, block)
  else
    toggle_fold()
  end
end

--- As <CR> does, but for what is sent again: a word of a failed turn is chosen by a double click.
local function enter_by_mouse()
  local chat = chat_here()
  local block = chat and chat.canvas:at(vim.api.nvim_win_get_cursor(0)[1] - 1)
  if not block or block.act ~= "again" then
    enter()
  end
end

--- Goes to the next prompt, or to the one before.
---@param step integer
local function jump(step)
  local chat = chat_here()
  if not chat then
    return
  end
  local _, index = chat.canvas:at(vim.api.nvim_win_get_cursor(0)[1] - 1)
  index = index + step
  while chat.canvas.blocks[index] do
    if (chat.canvas.blocks[index].lines[2] or ""):find("^❯ ") then
      vim.api.nvim_win_set_cursor(0, { chat.canvas.starts[index] + 2, 0 })
      return
    end
    index = index + step
  end
end

---@param act fun(chat: trimpoint.Chat, turn: trimpoint.Turn)
local function with_turn(act)
  local chat = chat_here()
  local turn = chat and chat:turn_here()
  if chat and turn then
    act(chat, turn)
  else
    say.info("No turn is under the cursor.")
  end
end

---@param turn trimpoint.Turn
local function diff_turn(_, turn)
  vim.cmd.Trimpoint({ "diff", tostring(turn.number) })
end

---@param chat trimpoint.Chat
---@param turn trimpoint.Turn
local function revert_to_turn(chat, turn)
  task.run(function()
    slash.run(chat, ("/revert %d"):format(turn.number))
  end)
end

---@param chat trimpoint.Chat
---@param first trimpoint.Turn
---@param last trimpoint.Turn
local function make_room_at(chat, first, last)
  task.run(function()
    local typed = pickers.act(first.number, last.number, chat.talk.thread.turn_count)
    if typed then
      slash.run(chat, typed, false, true)
    end
  end)
end

--- Makes room at the turn under the cursor, or with those of the selected lines.
local function make_room()
  local first, last = vim.fn.line("."), vim.fn.line("v")
  vim.cmd.normal({ vim.keycode("<Esc>"), bang = true })
  local chat = chat_here()
  local one = chat and chat:turn_here(math.min(first, last))
  local other = chat and chat:turn_here(math.max(first, last))
  if chat and one and other then
    make_room_at(chat, one, other)
  else
    say.info("No turn is under the cursor.")
  end
end

local function open_file()
  local chat = chat_here()
  if chat then
    places.open(chat, places.at(chat, vim.fn.line(".") - 1))
  end
end

--- With the mouse: what can be done with the turn that was clicked, wherever the cursor is by then.
local function ask_what()
  local chat = chat_here()
  local turn = chat and chat:turn_here()
  if not chat or vim.api.nvim_get_current_buf() ~= chat.buffer then
    vim.cmd.popup("PopUp")
    return
  elseif not turn then
    enter()
    return
  end
  local acts = {
    {
      words = "Make room here …",
      act = function()
        make_room_at(chat, turn, turn)
      end,
    },
    {
      words = "What it changed in the files",
      act = function()
        diff_turn(chat, turn)
      end,
    },
    {
      words = "Go back to where it was after it …",
      act = function()
        revert_to_turn(chat, turn)
      end,
    },
  }
  local place = places.at(chat, vim.fn.line(".") - 1)
  local file = places.file(chat, place)
  if file then
    table.insert(acts, 1, {
      words = "Open " .. vim.fn.fnamemodify(file, ":~:."),
      act = function()
        places.open(chat, place)
      end,
    })
  end
  task.run(function()
    local chosen = choose.from(acts, {
      prompt = ("Turn %d"):format(turn.number),
      kind = "trimpoint_turn_act",
      format_item = function(one)
        return text.one_line(one.words, 200)
      end,
    })
    if chosen then
      chosen.act()
    end
  end)
end

--- Maps the mouse in a history or a prompt.
---@param buffer integer
function M.map_mouse(buffer)
  vim.keymap.set({ "n", "i" }, "<RightMouse>", function()
    vim.cmd.stopinsert()
    -- A left button that is fed here is never let go: what is clicked next would count as dragged.
    local clicked = vim.fn.getmousepos()
    if vim.api.nvim_win_is_valid(clicked.winid) then
      vim.api.nvim_set_current_win(clicked.winid)
    end
    if clicked.line > 0 then
      vim.api.nvim_win_set_cursor(0, { clicked.line, math.max(0, clicked.column - 1) })
    end
    vim.defer_fn(ask_what, 0)
  end, { buffer = buffer, desc = "What can be done with the turn" })
end

local function to_prompt()
  local chat = chat_here()
  local window = chat and windows.showing(chat.prompt)
  if chat and not window then
    chat:show()
  elseif window then
    vim.api.nvim_set_current_win(window)
  end
  if chat then
    vim.cmd.startinsert({ bang = true })
  end
end

--- Maps them.
---@param buffer integer
function M.map(buffer)
  M.map_mouse(buffer)
  local function map(keys, act, description)
    vim.keymap.set("n", keys, act, { buffer = buffer, desc = description, nowait = true })
  end
  map("<CR>", enter, "Open or close; answer; load older entries")
  map("<2-LeftMouse>", enter_by_mouse, "Open or close; answer; load older entries")
  map("gf", open_file, "Open the file that was changed here, or is named here")
  map("<Tab>", toggle_fold, "Open or close a fold")
  for _, key in ipairs({ "i", "a", "o", "A", "I", "O" }) do
    map(key, to_prompt, "Type a prompt")
  end
  map("]]", function()
    jump(1)
  end, "The next prompt")
  map("[[", function()
    jump(-1)
  end, "The prompt before")
  map("d", function()
    with_turn(diff_turn)
  end, "What the turn changed in the files")
  map("x", make_room, "Clear, compact or mask at this turn")
  local words = "Clear, compact or mask these turns"
  vim.keymap.set("x", "x", make_room, { buffer = buffer, desc = words, nowait = true })
  map("R", function()
    with_turn(revert_to_turn)
  end, "Take the thread back to where it was after this turn")
  map("<C-c>", "<Cmd>Trimpoint interrupt<CR>", "Interrupt the turn")
  map("q", function()
    local chat = chat_here()
    if chat then
      chat:hide()
    end
  end, "Hide the chat")
  map("g?", "<Cmd>help trimpoint-keys<CR>", "The keys")
end

return M
