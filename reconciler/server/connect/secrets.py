"""A secret itself where the path of its file belongs: such a value is told by its look, and never repeated."""

from __future__ import annotations

import re

_TEXT = re.compile(
    r"""[\r\n]            # a file's text, as it is
    | -----BEGIN          # or its lines folded into one
    | ^\s*LS0tLS1CRUdJTi  # or that in base64
    | ^\s*eyJ[\w-]{10,}   # a JWT
    | ^\s*S[A-Z2-7]{40,}  # an nkey seed
    | ^\s*\{              # a context
    | ^\s*(?i:data:)""",
    re.VERBOSE,
)


def is_pasted(value: str) -> bool:
    """No path and no name of anybody's looks like it, nor what a reference refers to."""
    return _TEXT.search(re.sub(r"(?i)^(env|file)://", "", value)) is not None
