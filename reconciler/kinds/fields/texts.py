"""Texts that files hold and servers accept: subjects and names, as far as their form is concerned."""

from __future__ import annotations

from typing import Annotated

from reconciler.model.resource import text_like

SUBJECT = r"^[^.]+(\.[^.]+)*$"
Subject = Annotated[str, text_like(SUBJECT, "tokens between single dots")]
"""Tokens between dots; rules say more about what each field accepts."""
NAME = r"[^\s.*>/\\]+"
Name = Annotated[str, text_like(f"^{NAME}$", "a name without spaces, `.`, `*`, `>`, `/` and `\\`")]
"""The name of a stream or consumer."""
