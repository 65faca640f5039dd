"""Whatever scalar of a valid document is made wrong, the complaint stands at exactly that scalar."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reconciler.kinds import REGISTRY as REAL
from tests.documents.kinds import REGISTRY
from tests.documents.random_documents import every_wrong_scalar_is_shown
from tests.documents.reading import Folder

patiently = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@patiently
@given(st.data())
def test_every_wrong_scalar_is_shown(data: st.DataObject) -> None:
    with TemporaryDirectory() as path:
        every_wrong_scalar_is_shown(data, Folder(Path(path)), REGISTRY)


@patiently
@given(st.data())
def test_every_wrong_scalar_of_the_real_kinds_is_shown(data: st.DataObject) -> None:
    with TemporaryDirectory() as path:
        every_wrong_scalar_is_shown(data, Folder(Path(path)), REAL)
