"""What a server answered, as data that is written down and compared."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from reconciler.server.wire.answers import Answer, Refusal

Answered = dict[str, Any]
"""`answer`: accepts or refuses. With it the `err_code` and `description`; or the fields that were `dropped`, what was `lost` after
so many `restarts`, and what was `lost_after_upgrade` when the next version was started."""


def answered(answer: Answer | None, dropped: Sequence[str] = (), names: str = "") -> Answered | None:
    """The answer as data, with the case's own names in it as they are shown; None where there was none."""
    if isinstance(answer, Refusal):
        words = answer.description.replace(names, "@") if names else answer.description
        return {"answer": "refuses", "err_code": answer.err_code, "description": shown(words)}
    if not isinstance(answer, Mapping):
        return None
    return {"answer": "accepts", **({"dropped": [*dropped]} if dropped else {})}


def shown(text: str) -> str:
    """The text of a case without the prefix of its names, or with one written out where it stands alone."""
    return re.sub(r"@(?![A-Za-z0-9])", "app", text).replace("@", "")
