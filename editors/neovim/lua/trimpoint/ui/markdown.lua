--- Colours answers as the Markdown that they are: each one for itself, so that a fence which one of
--- them leaves open does not swallow the others.
local M = {}

-- Parsing costs about 20 µs an answer each time; older ones stay plain.
local MOST_ANSWERS = 300

-- The parser that comes with Neovim ends the whole editor at 256 blocks inside each other. A mark,
-- or a tab, opens or goes on with two of them at most.
local LONGEST_MARKS = 100

---@param buffer integer
---@param first integer
---@param last integer
---@return boolean
local function is_flat(buffer, first, last)
  for _, line in ipairs(vim.api.nvim_buf_get_lines(buffer, first, last + 1, false)) do
    if #line > LONGEST_MARKS and #line:match("^[%s>*+%-%d.)]*") > LONGEST_MARKS then
      return false
    end
  end
  return true
end

---@param canvas trimpoint.Canvas
---@return table[] one list of ranges for each answer
local function regions_of(canvas)
  local regions = {}
  for index = #canvas.blocks, 1, -1 do
    local block = canvas.blocks[index]
    if #regions == MOST_ANSWERS then
      break
    elseif block.markdown and not block.trimmed then
      local first = canvas.starts[index] + block.markdown.first
      local last = canvas.starts[index] + block.markdown.last
      if is_flat(canvas.buffer, first, last) then
        regions[#regions + 1] = { { first, 0, last + 1, 0 } }
      end
    end
  end
  return regions
end

--- Colours what is shown; without Neovim's own parser for Markdown it stays plain.
---@param canvas trimpoint.Canvas
function M.highlight(canvas)
  local buffer = canvas.buffer
  local is_there, parser = pcall(vim.treesitter.get_parser, buffer, "markdown")
  if not is_there or parser == nil then
    return
  end
  local regions = regions_of(canvas)
  if #regions == 0 then
    if vim.treesitter.highlighter.active[buffer] then
      vim.treesitter.stop(buffer)
    end
    return
  end
  parser:set_included_regions(regions)
  if not vim.treesitter.highlighter.active[buffer] then
    pcall(vim.treesitter.start, buffer, "markdown")
  end
end

return M
