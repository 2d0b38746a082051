# Sourced by the other scripts: goes to the root of the repository and makes sure that .venv has what pyproject.toml
# and constraints-dev.txt ask for. The second time nothing is installed: a stamp in .venv remembers what it was made from.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$root"
venv="$root/.venv"
export PIP_DISABLE_PIP_VERSION_CHECK=1
# Compiled once, and not beside the sources. Without it each process of a test compiles all modules anew.
unset PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX="$venv/pycache"

say() { printf '%s\n' "$*" >&2; }

# is_python COMMAND [MINOR]: whether it runs and is Python 3.11 or newer, or 3.MINOR.
# A name in PATH proves little: a version manager's shim may stand for nothing.
is_python() {
    "$1" -c "import sys; v = sys.version_info[:2]; sys.exit(not (${2:+v == (3, $2) and }v >= (3, 11)))" 2>/dev/null
}

find_python() {
    local candidate
    for candidate in python3 python3.14 python3.13 python3.12 python3.11 python; do
        if is_python "$candidate"; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    say "trimpoint needs Python 3.11 or newer, and none is in PATH."
    return 1
}

# find_minor MINOR: prints a Python 3.MINOR of this machine: from PATH, TRIMPOINT_PYTHONS, pyenv or uv.
find_minor() {
    local folder
    local IFS=:
    for folder in ${TRIMPOINT_PYTHONS:-} $PATH "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin; do
        if [ -x "$folder/python3.$1" ] && is_python "$folder/python3.$1" "$1"; then
            printf '%s\n' "$folder/python3.$1"
            return
        fi
    done
    "$venv/bin/uv" python find --quiet --no-python-downloads --managed-python "3.$1" 2>/dev/null
}

# run_fast PYTHON [ARGUMENT…]: the fast tests on another Python, two at a time, without those that need an editor.
run_fast() {
    local editor=(tests/neovim tests/faces tests/vscode tests/protocol/test_hidden_characters.py)
    "$1" -m pytest -m "not processes" "${editor[@]/#/--ignore=}" --numprocesses 2 "${@:2}"
}

install() {
    local python log="$venv/install.log"
    python="$(find_python)"
    say "Setting up .venv with $("$python" --version) (once; takes a minute) …"
    # Dependency groups need pip 25.1; the pip that comes with Python 3.11 and 3.12 is older.
    if ! {
        "$python" -m venv "$venv" &&
            "$venv/bin/python" -m pip install --quiet --upgrade 'pip>=25.1' &&
            "$venv/bin/python" -m pip install --quiet --constraint constraints-dev.txt --editable . --group dev
    } >"$log" 2>&1; then
        say "It failed:"
        tail -n 30 "$log" >&2
        return 1
    fi
    rm -f "$log"
}

stamp="$(cat pyproject.toml constraints-dev.txt | cksum)"
if [ "$(cat "$venv/stamp" 2>/dev/null)" != "$stamp" ]; then
    # Two scripts that start at the same time install once.
    mkdir -p "$venv"
    exec 9>"$venv/lock"
    if command -v flock >/dev/null; then flock 9; fi
    if [ "$(cat "$venv/stamp" 2>/dev/null)" != "$stamp" ]; then
        install
        printf '%s\n' "$stamp" >"$venv/stamp"
    fi
    exec 9>&-
fi
