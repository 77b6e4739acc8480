"""What makes a shell complete commands, options and names."""

import re
from collections.abc import Callable
from typing import Literal

from cyclopts import App

from fourcorners import catalog

Names = Literal["tests", "targets", "drives"]

# What stands in the places of a command, of which the last may be repeated.
_PLACES: dict[str, tuple[Names, ...]] = {
    "characterize": ("targets",),
    "run": ("tests", "targets"),
    "explain": ("targets",),
    "tests": ("tests",),
    "drives": ("drives",),
    "prepare": ("targets",),
    "verify": ("targets",),
    "gate": ("targets",),
}
_REPEATED = ("characterize", "run")

# Beside what is generated, which knows no names. The tests are asked for when they are first
# wanted, as that takes a second. Bash takes a colon for the end of a word, so that only what
# follows the last one is to be given back.
_BASH = r"""
_fourcorners_named() {
  COMPREPLY=()
  _fourcorners
  local line="${COMP_LINE:0:COMP_POINT}"
  local word="${line##*[[:space:]]}" known=""
  [[ ${#COMPREPLY[@]} -gt 0 || "$word" == -* || $COMP_CWORD -lt 2 ]] && return
  local -a given
  read -ra given <<< "${line%"$word"}"
  [[ " @OPTIONS@ " == *" ${given[${#given[@]}-1]} "* ]] && return
  local place=-1 index
  for ((index = 1; index < ${#given[@]}; index++)); do
    [[ "${given[index]}" == -* ]] && continue
    [[ " @OPTIONS@ " == *" ${given[index-1]} "* ]] || ((place++))
  done
  case "${given[1]} $place" in
    "run 0" | "tests 0")
      if [[ -z "$_fourcorners_tests" ]]; then
        _fourcorners_tests=$("${given[0]}" tests --json 2>/dev/null |
          sed -n 's/^      "name": "\(.*\)",$/\1/p')
      fi
      known="$_fourcorners_tests" ;;
    "drives 0") known="@DRIVES@" ;;
    characterize\ * | run\ * | "explain 0" | "prepare 0" | "verify 0" | "gate 0")
      known="@TARGETS@" ;;
  esac
  COMPREPLY=($(compgen -W "$known" -- "$word"))
  if [[ "$word" == *:* && "$COMP_WORDBREAKS" == *:* ]]; then
    COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*:}"}"}")
  fi
}

complete -o default -F _fourcorners_named fourcorners
"""


# Functions that the places of the generated script are made to name; and, as it is read with
# source and not found by its name, what says whose it is.
_ZSH = r"""
_fourcorners_tests() {
  (( $+_fourcorners_known )) || typeset -ga _fourcorners_known=(
    ${(f)"$(fourcorners tests --json 2>/dev/null | sed -n 's/^      "name": "\(.*\)",$/\1/p')"})
  compadd -a _fourcorners_known
  _files
}

_fourcorners_drives() {
  compadd -- @DRIVES@
}

_fourcorners_targets() {
  compadd -- @TARGETS@
  _files
}

compdef _cyclopts_fourcorners fourcorners
"""

_FISH = r"""
function __fourcorners_tests
    if not set -q __fourcorners_known
        set -g __fourcorners_known (fourcorners tests --json 2>/dev/null |
            string replace -rf '^      "name": "(.*)",$' '$1')
    end
    printf '%s\n' $__fourcorners_known
end

function __fourcorners_drives
    printf '%s\n' @DRIVES@
end

function __fourcorners_targets
    printf '%s\n' @TARGETS@
end
"""


def script(app: App, shell: Literal["bash", "zsh", "fish"]) -> str:
    """The script for a shell."""
    complete: dict[str, Callable[[App, str], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
    text = complete[shell](app, app.generate_completion(shell=shell))
    drives = catalog.names()
    text = text.replace("@DRIVES@", " ".join(drives))
    return text.replace("@TARGETS@", " ".join(f"sim:{name}" for name in drives))


def _bash(app: App, script: str) -> str:
    return script + _BASH.replace("@OPTIONS@", " ".join(sorted(_options_with_values(app))))


def _zsh(app: App, script: str) -> str:
    """The generated script whose places, which say what stands there only, name a function."""
    command, lines = None, []
    for line in script.splitlines():
        if (begin := re.fullmatch(r" {8}(\S+)\)", line)) is not None:
            command = begin[1]
        place = re.fullmatch(r"( {12}'(\d|\*):.*)(?<!_files)(' \\)", line)
        if place is not None and command in _PLACES:
            names = _PLACES[command]
            number = len(names) if place[2] == "*" else int(place[2])
            if number <= len(names):
                line = f"{place[1]}:_fourcorners_{names[number - 1]}{place[3]}"
        lines.append(line)
    return "\n".join(lines) + _ZSH


def _fish(app: App, script: str) -> str:
    lines = []
    for command, names in _PLACES.items():
        for place, name in enumerate(names):
            sign = "-ge" if command in _REPEATED and place == len(names) - 1 else "-eq"
            lines.append(
                f"complete -c fourcorners -n '__fish_fourcorners_using_command {command}; and test "
                f"(__fish_fourcorners_positional_index 1) {sign} {place}' "
                f"-a '(__fourcorners_{name})'"
            )
    return script + _FISH + "\n".join(lines)


def _options_with_values(app: App) -> set[str]:
    found: set[str] = set()
    for name in app:
        if name.startswith("-"):
            continue
        command = app[name]
        found |= _options_with_values(command)
        if command.default_command is None:
            continue
        for argument in command.assemble_argument_collection():
            if argument.index is None and argument.token_count()[0] > 0:
                found |= {one for one in argument.names if one.startswith("--")}
    return found
