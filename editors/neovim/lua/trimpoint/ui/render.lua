--- Puts blocks into a buffer: only lines that differ are written, so that cursors, folds and marks
--- stay where they are.
local M = {}

local NAMESPACE = vim.api.nvim_create_namespace("trimpoint")

---@class trimpoint.Canvas
---@field buffer integer
---@field blocks trimpoint.Block[]
---@field starts integer[] the row of each block's first line, from 0
---@field folds trimpoint.Fold[]
local Canvas = {}
Canvas.__index = Canvas

---@param buffer integer
---@return trimpoint.Canvas
function M.new(buffer)
  return setmetatable({ buffer = buffer, blocks = {}, starts = {}, folds = {} }, Canvas)
end

---@param blocks trimpoint.Block[]
---@return integer[] starts, integer total
local function starts_of(blocks)
  local starts, row = {}, 0
  for index, block in ipairs(blocks) do
    starts[index] = row
    row = row + #block.lines
  end
  return starts, row
end

---@param old (trimpoint.Block|string)[]
---@param new (trimpoint.Block|string)[]
---@return integer head, integer tail how many are the same at the beginning and at the end
local function same_ends(old, new)
  local head, tail, most = 0, 0, math.min(#old, #new)
  while head < most and old[head + 1] == new[head + 1] do
    head = head + 1
  end
  while tail < most - head and old[#old - tail] == new[#new - tail] do
    tail = tail + 1
  end
  return head, tail
end

---@param blocks trimpoint.Block[]
---@param first integer
---@param last integer
---@return string[]
local function lines_of(blocks, first, last)
  local lines = {}
  for index = first, last do
    vim.list_extend(lines, blocks[index].lines)
  end
  return lines
end

---@class trimpoint.Fold
---@field key string what it folds: a pruned section by its first block, a body by its own
---@field first integer the line, from 1
---@field last integer

---@param found trimpoint.Fold[]
---@param block trimpoint.Block
---@param start integer
local function add_body(found, block, start)
  local first, last
  for row = 0, next(block.folded) and #block.lines - 1 or -1 do
    if block.folded[row] then
      first, last = first or row, row
    end
  end
  if first and last > first then
    found[#found + 1] =
      { key = "body " .. block.key, first = start + first + 1, last = start + last + 1 }
  end
end

--- Returns what is folded; a body comes before the section that it is in.
---@param blocks trimpoint.Block[]
---@param starts integer[]
---@return trimpoint.Fold[]
local function folds_of(blocks, starts)
  local found, sections, section = {}, {}, nil
  for index, block in ipairs(blocks) do
    add_body(found, block, starts[index])
    if not block.trimmed then
      section = nil
    end
    if block.trimmed and not section then
      section = { key = "section " .. block.key, first = starts[index] + 1 }
      sections[#sections + 1] = section
    end
    if section then
      section.last = starts[index] + #block.lines
    end
  end
  return vim.list_extend(found, sections)
end

---@param one trimpoint.Fold[]
---@param other trimpoint.Fold[]
---@return boolean whether they differ in more than their place
local function differ(one, other)
  if #one ~= #other then
    return true
  end
  for index, fold in ipairs(one) do
    local twin = other[index]
    if fold.key ~= twin.key or fold.last - fold.first ~= twin.last - twin.first then
      return true
    end
  end
  return false
end

--- Writes `new` in the place of `old` at `row`, without touching lines that are the same at both
--- ends.
---@param row integer
---@param old string[]
---@param new string[]
function Canvas:_replace(row, old, new)
  local head, tail = same_ends(old, new)
  if head == #old and head == #new then
    return
  end
  vim.bo[self.buffer].modifiable = true
  vim.api.nvim_buf_set_lines(
    self.buffer,
    row + head,
    row + #old - tail,
    false,
    vim.list_slice(new, head + 1, #new - tail)
  )
  vim.bo[self.buffer].modifiable = false
  vim.bo[self.buffer].modified = false
end

---@private
---@param block trimpoint.Block
---@param start integer
function Canvas:_mark(block, start)
  for _, mark in ipairs(block.marks) do
    local options = mark.options
    if options.end_col == -1 then
      options = vim.tbl_extend("force", options, { end_col = #block.lines[mark.row + 1] })
    end
    vim.api.nvim_buf_set_extmark(self.buffer, NAMESPACE, start + mark.row, mark.col, options)
  end
end

--- Shows `blocks` in the place of what is shown.
---@param blocks trimpoint.Block[]
---@param on_folds fun() called before lines change, where folds will be others than they were
---@return boolean has_changed, boolean folds_changed
function Canvas:show(blocks, on_folds)
  local old, old_starts = self.blocks, self.starts
  local head, tail = same_ends(old, blocks)
  if head == #old and head == #blocks then
    return false, false
  end
  local new_starts = starts_of(blocks)
  local new_folds = folds_of(blocks, new_starts)
  local folds_changed = differ(self.folds, new_folds)
  if folds_changed then
    on_folds()
  end
  local row = head < #old and old_starts[head + 1] or (select(2, starts_of(old)))
  local old_lines = #old == 0 and vim.api.nvim_buf_get_lines(self.buffer, 0, -1, false)
    or lines_of(old, head + 1, #old - tail)
  local new_lines = lines_of(blocks, head + 1, #blocks - tail)
  vim.api.nvim_buf_clear_namespace(self.buffer, NAMESPACE, row, row + #old_lines)
  self.blocks, self.starts, self.folds = blocks, new_starts, new_folds
  self:_replace(row, old_lines, new_lines)
  for index = head + 1, #blocks - tail do
    self:_mark(blocks[index], self.starts[index])
  end
  return true, folds_changed
end

--- Returns the block at a row, and its number.
---@param row integer from 0
---@return trimpoint.Block?, integer
function Canvas:at(row)
  for index = #self.blocks, 1, -1 do
    if self.starts[index] <= row then
      return self.blocks[index], index
    end
  end
  return nil, 0
end

return M
