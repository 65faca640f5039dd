"""What a spec expects is read once, by one thread at a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, BrokenBarrierError
from typing import Any

from pydantic import BaseModel

from reconciler.documents.parse.shape import shape_of_spec


def test_two_environments_that_are_read_at_once_do_not_build_models_at_once() -> None:
    """Pydantic builds a model when it is first asked for, and fails where another thread has just done so."""
    meeting, met = Barrier(2), list[bool]()

    class Spec(BaseModel):
        name: str = ""

        @classmethod
        def model_json_schema(cls, *_arguments: Any, **_options: Any) -> dict[str, Any]:
            try:
                meeting.wait(timeout=0.5)
            except BrokenBarrierError:
                meeting.reset()
            else:
                met.append(True)
            return {}

    with ThreadPoolExecutor(2) as threads:
        found = [threads.submit(shape_of_spec, Spec) for _ in range(2)]
    assert all(one.result() is not None for one in found)
    assert met == []
