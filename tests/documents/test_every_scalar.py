"""Whatever scalar of a valid document is made wrong, the complaint stands at exactly that scalar."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reconciler.changes.kind import Registry
from reconciler.kinds import REGISTRY as REAL
from tests.documents.kinds import REGISTRY
from tests.documents.random_documents import every_wrong_scalar_is_shown
from tests.documents.reading import Folder

EXAMPLES = 60


@pytest.mark.parametrize("registry", [REGISTRY, REAL], ids=["small kinds", "real kinds"])
def test_every_wrong_scalar_is_shown(registry: Registry) -> None:
    tried: list[int] = []

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def check(data: st.DataObject) -> None:
        with TemporaryDirectory() as path:
            tried.append(every_wrong_scalar_is_shown(data, Folder(Path(path)), registry))

    check()
    assert (len(tried) >= EXAMPLES // 2, sum(tried) > 5 * EXAMPLES) == (True, True), tried
