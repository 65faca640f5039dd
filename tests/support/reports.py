"""A plan as people read it on a terminal."""

from __future__ import annotations

from typing import Any

from reconciler.changes.plan import Plan
from reconciler.report.document.document import Document
from reconciler.report.text import render
from reconciler.report.words.paper import Paper


def plan_text(plan: Plan, paper: Paper | None = None, **content: Any) -> str:
    """Return the whole report of a plan, ending in a newline; `content` is what else the document holds."""
    return render(Document(plan=plan, topology=plan.topology, paper=paper or Paper(), **content))
