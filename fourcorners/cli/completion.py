"""``fourcorners completion``: what makes a shell complete commands, options and, in bash, names."""

from cyclopts import App

from fourcorners import catalog
from fourcorners.cli.output import say

# Beside what is generated, which knows no names. The tests are asked for when they are first
# wanted, as that takes a second. Bash takes a colon for the end of a word, so that only what
# follows the last one is to be given back.
_NAMES = r"""
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
    characterize\ * | run\ * | "explain 0" | "prepare 0" | "verify 0") known="@TARGETS@" ;;
  esac
  COMPREPLY=($(compgen -W "$known" -- "$word"))
  if [[ "$word" == *:* && "$COMP_WORDBREAKS" == *:* ]]; then
    COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*:}"}"}")
  fi
}

complete -o default -F _fourcorners_named fourcorners
"""


def run(app: App, shell: str) -> int:
    """Prints the script for a shell."""
    script = app.generate_completion(shell=shell)  # type: ignore[arg-type]
    if shell == "bash":
        drives = catalog.names()
        names = _NAMES.replace("@OPTIONS@", " ".join(sorted(_options_with_values(app))))
        names = names.replace("@DRIVES@", " ".join(drives))
        script += names.replace("@TARGETS@", " ".join(f"sim:{name}" for name in drives))
    say(script)
    return 0


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
