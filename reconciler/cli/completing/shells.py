"""How shells ask what a word may become, and the scripts that make them ask."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from reconciler.cli.completing.line import Offer, offers, parse_line
from reconciler.cli.completing.named import NamesOnMachine

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


def completion_lines(environ: Mapping[str, str]) -> str:
    """Return what the asking shell reads, a line for each offer."""
    shell = environ[COMPLETING]
    typed = int(environ["COMP_CWORD"])
    typed_words = environ["COMP_WORDS"].split("\n")
    words = [_unquoted_word(word) for word in (*typed_words, *[""] * typed)[: typed + 1]]
    words, typed_before = _rejoined_words(words) if shell == "bash" else (words, "")
    table = json.loads(Path(__file__).with_name("words.json").read_text(encoding="utf-8"))
    offered = offers(parse_line(words, table), table, NamesOnMachine(table["kinds"], environ))
    return "".join(f"{_LINE_FOR[shell](offer, typed_before)}\n" for offer in offered)


def _unquoted_word(word: str) -> str:
    """Return a word without its quotes, of which the last may not be typed yet."""
    for text in (word, f"{word}'", f'{word}"'):
        try:
            return " ".join(shlex.split(text))
        except ValueError:
            continue
    return word


def _rejoined_words(words: Sequence[str]) -> tuple[list[str], str]:
    """Return words as they were typed, where bash has taken them apart at `=` and `:`, and how much of the last one stands already."""
    rejoined: list[str] = []
    typed_before = ""
    for before, word in zip(("", *words), words, strict=False):
        if rejoined and (_is_separator(word) or _is_separator(before)):
            typed_before = rejoined[-1] + (word if _is_separator(word) else "")
            rejoined[-1] += word
        else:
            typed_before = ""
            rejoined.append(word)
    return rejoined, typed_before


def _is_separator(word: str) -> bool:
    return bool(word) and not word.strip("=:")


def _bash_line(offer: Offer, typed_before: str) -> str:
    return offer.word.removeprefix(typed_before)


def _zsh_line(offer: Offer, _: str) -> str:
    word = offer.word.replace("\\", "\\\\").replace(":", "\\:")
    return f"{word}:{offer.about}" if offer.about else word


def _fish_line(offer: Offer, _: str) -> str:
    return f"{offer.word}\t{offer.about}" if offer.about else offer.word


_LINE_FOR: Mapping[str, Callable[[Offer, str], str]] = {"bash": _bash_line, "zsh": _zsh_line, "fish": _fish_line}


def completions_or_nothing() -> str:
    """Return what the asking shell reads, or nothing, whatever goes wrong: a line that is being typed is no place to complain
    in."""
    try:
        return completion_lines(os.environ)
    except Exception:  # noqa: BLE001 - as it says
        return ""
