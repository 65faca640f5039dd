"""Recognises a secret where the path of its file belongs, by its look; such a value is never repeated."""

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
    """Does the value look like a secret, and not like a path, a name, or a reference?"""
    return _TEXT.search(re.sub(r"(?i)^(env|file)://", "", value)) is not None
