"""How shells ask what a word may become, and the scripts that make them ask."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from reconciler.cli.completing.line import Offer, asked, offers
from reconciler.cli.completing.named import NamesThere

COMPLETING = "_RECONCILER_COMPLETE"
"""Set by the scripts: the shell that asks. `COMP_WORDS` are the words, one a line, and `COMP_CWORD` is the one typed."""

BASH = """\
_reconciler_completion() {
    local IFS=$'\\n'
    COMPREPLY=($(_RECONCILER_COMPLETE=bash COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD "$1" 2>/dev/null))
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=/] ]]; then
        compopt -o nospace
    fi
}
complete -o default -F _reconciler_completion reconciler
"""
ZSH = """\
#compdef reconciler
_reconciler() {
    local -a found whole begun
    found=("${(@f)$(_RECONCILER_COMPLETE=zsh COMP_WORDS="${(F)words}" COMP_CWORD=$((CURRENT - 1)) ${words[1]} 2>/dev/null)}")
    whole=(${found:#*[=/](|:*)})
    begun=(${(M)found:#*[=/](|:*)})
    (( $#whole )) && _describe 'reconciler' whole
    (( $#begun )) && _describe 'reconciler' begun -S ''
    (( $#whole + $#begun )) || _files
}
compdef _reconciler reconciler
"""
FISH = """\
function __reconciler_completion
    set -l words (commandline -opc) (commandline -ct)
    set -l typed (math (count $words) - 1)
    set -l found (env _RECONCILER_COMPLETE=fish COMP_WORDS=(string join \\n -- $words | string collect) COMP_CWORD=$typed \\
        $words[1] 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete --command reconciler --no-files --arguments '(__reconciler_completion)'
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def answer(environ: Mapping[str, str]) -> str:
    """What the shell that asks reads, a line for each offer."""
    shell = environ[COMPLETING]
    typed = int(environ["COMP_CWORD"])
    said = environ["COMP_WORDS"].split("\n")
    words = [_bare(word) for word in (*said, *[""] * typed)[: typed + 1]]
    words, done = _joined(words) if shell == "bash" else (words, "")
    table = json.loads(Path(__file__).with_name("words.json").read_text(encoding="utf-8"))
    found = offers(asked(words, table), table, NamesThere(table["kinds"], environ))
    return "".join(f"{_SAID[shell](one, done)}\n" for one in found)


def _bare(word: str) -> str:
    """Without its quotes, of which the last may not be typed yet."""
    for text in (word, f"{word}'", f'{word}"'):
        try:
            return " ".join(shlex.split(text))
        except ValueError:
            continue
    return word


def _joined(words: Sequence[str]) -> tuple[list[str], str]:
    """Words as they were typed, where bash has taken them apart at `=` and `:`, and how much of the last one stands already."""
    whole: list[str] = []
    done = ""
    for before, word in zip(("", *words), words, strict=False):
        if whole and (_is_mark(word) or _is_mark(before)):
            done = whole[-1] + (word if _is_mark(word) else "")
            whole[-1] += word
        else:
            done = ""
            whole.append(word)
    return whole, done


def _is_mark(word: str) -> bool:
    return bool(word) and not word.strip("=:")


def _to_bash(one: Offer, done: str) -> str:
    return one.word.removeprefix(done)


def _to_zsh(one: Offer, _: str) -> str:
    word = one.word.replace("\\", "\\\\").replace(":", "\\:")
    return f"{word}:{one.about}" if one.about else word


def _to_fish(one: Offer, _: str) -> str:
    return f"{one.word}\t{one.about}" if one.about else one.word


_SAID: Mapping[str, Callable[[Offer, str], str]] = {"bash": _to_bash, "zsh": _to_zsh, "fish": _to_fish}


def complete() -> str:
    """What to print. Whatever goes wrong, nothing is offered: a line that is being typed is no place to complain in."""
    try:
        return answer(os.environ)
    except Exception:  # noqa: BLE001 - as it says
        return ""
