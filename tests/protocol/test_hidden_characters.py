"""The one list of characters that hide or turn text, in each language that has a copy of it."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from trimpoint_protocol.hidden_characters import MISLEADING, UNUSUAL, visible, whole

from tests.deadlines import STEP_S
from tests.neovim.editor import PLUGIN, neovim

PAGE = Path(__file__).parents[2] / "web" / "app" / "model" / "hidden.js"
CODES = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
LUA = """
local text = require("trimpoint.model.text")
local hidden = { printable = {}, whole = {} }
for code = 1, 0xE0FFF do
  if (code < 0xD800 or code > 0xDFFF) and (code < 0x10000 or code > 0xDFFFF) then
    local character = vim.fn.nr2char(code, true)
    for name, found in pairs(hidden) do
      if text[name](character) ~= character then
        found[#found + 1] = code
      end
    end
  end
end
io.stdout:write(vim.json.encode(hidden))
"""


def test_both_classes_are_apart_and_leave_plain_text_alone() -> None:
    assert not MISLEADING & UNUSUAL
    assert visible("a\tb\nc\r\nd") == "a\tb\nc\nd"
    assert not {ord(character) for character in "\n\t aß字🙂\ufe0f"} & (MISLEADING | UNUSUAL)


@pytest.mark.parametrize("code", [0x1B, 0x9B, 0x202E, 0x200B, 0x200F, 0xFEFF, 0x2028, 0xE0041])
def test_a_misleading_character_is_named_everywhere(code: int) -> None:
    assert visible(f"a{chr(code)}b") == whole(f"a{chr(code)}b") == f"a⟨U+{code:04X}⟩b"


@pytest.mark.parametrize("prose", ["\u0645\u06cc\u200c\u062e", "क्\u200dष", "❤\ufe0f 👩\u200d💻"])
def test_prose_keeps_what_scripts_and_emoji_need(prose: str) -> None:
    assert visible(prose) == prose


def test_a_command_to_approve_shows_joiners_and_selectors_too() -> None:
    assert whole("rm\u00a0-rf \u200d/\ufe01") == "rm⟨U+00A0⟩-rf ⟨U+200D⟩/⟨U+FE01⟩"


@pytest.mark.parametrize(("name", "codes"), [("MISLEADING", MISLEADING), ("UNUSUAL", UNUSUAL)])
def test_the_page_has_the_same_list(name: str, codes: frozenset[int]) -> None:
    found = re.search(rf"const {name} = /(.*)/gu;", PAGE.read_text())
    assert found is not None
    source = re.sub(r"\\u\{([0-9a-f]+)\}", lambda one: f"\\U{int(one[1], 16):08x}", found[1])
    assert {ord(one) for one in re.findall(source, "".join(map(chr, CODES)))} == codes


@pytest.mark.processes
def test_the_neovim_plugin_has_the_same_list(tmp_path: Path) -> None:
    script = tmp_path / "hidden.lua"
    script.write_text(LUA)
    command = [neovim(), "--clean", "--cmd", f"set rtp^={PLUGIN}", "-l", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=STEP_S, check=True)
    hidden = {name: set(codes) for name, codes in json.loads(done.stdout or done.stderr).items()}
    assert hidden["printable"] == MISLEADING - {0}
    assert hidden["whole"] == (MISLEADING | UNUSUAL) - {0}
