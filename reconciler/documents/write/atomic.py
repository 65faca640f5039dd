"""Writes files whole or not at all: the old text stays until all of the new text is on the disk, however full it is.

Writes new files: all of them or, where one exists already, none. Nothing is overwritten unasked.

Names of resources become names of files that every file system takes, the same on every machine. A character other than a
letter, digit, `-` or `_` of ASCII becomes `=XX`, as in the ledger's keys. Long names are cut. A name that some file system
would confuse with another, or with a device, gets a few more characters.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from reconciler.model.ledger.entries import escaped

IMMOVABLE = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV})
"""The folder takes no other file, or this one is a mount of its own: it may be writable all the same."""
NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV})


def write_whole(files: Mapping[Path, bytes], *, only_new: bool = False) -> None:
    """Write all of the files, or none. Each is written beside its place, and they take their places once every one is
    on the disk. Anything else than a file, such as a pipe or a terminal, is written to directly. With `only_new`, an
    existing file stays, and FileExistsError names it. Raises OSError with the name of the file that could not be
    written."""
    unfinished: dict[Path, tuple[Path, Path]] = {}
    try:
        for path, data in files.items():
            if _is_file(path):
                place = Path(os.path.realpath(path))
                fresh = place.with_name(f".unfinished-{secrets.token_hex(6)}")
                unfinished[fresh] = path, place
                _write_beside(fresh, data, path, place)
        for path, data in files.items():
            if not _is_file(path):
                path.write_bytes(data)
        for fresh, (path, place) in unfinished.items():
            _move_into_place(fresh, place, files[path], only_new=only_new)
    finally:
        for fresh in unfinished:
            _discard(fresh)


def _is_file(path: Path) -> bool:
    """Is it a file, or nothing yet? A descriptor keeps its target: its reader would not see a file that takes the
    place."""
    named = os.path.abspath(path)  # noqa: PTH100 - links are what is asked about
    is_descriptor = named.startswith(("/dev/", "/proc/")) and not named.startswith("/dev/shm/")
    return not is_descriptor and (path.is_file() or not path.exists())


def _write_beside(fresh: Path, data: bytes, path: Path, place: Path) -> None:
    try:
        with fresh.open("xb") as file:
            file.write(data)
            if place.exists():
                _copy_owner_and_mode(file.fileno(), place.stat())
                os.fsync(file.fileno())  # the old text goes only when this is safe
    except OSError as error:
        if error.errno not in IMMOVABLE or not place.exists():
            raise OSError(error.errno, error.strerror, str(path)) from None
        _discard(fresh)


def _discard(fresh: Path) -> None:
    """Remove what has not become a file. Where nothing can be removed, nothing could be written, and that is the error
    to report."""
    with suppress(OSError):
        fresh.unlink(missing_ok=True)


def _copy_owner_and_mode(fresh: int, old: os.stat_result) -> None:
    """Give it the same owner and mode, or else the old file itself is overwritten: a new owner may not have the old
    one's mode."""
    new = os.fstat(fresh)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        os.fchown(fresh, old.st_uid, old.st_gid)
    os.fchmod(fresh, old.st_mode & 0o7777)


def _move_into_place(fresh: Path, place: Path, data: bytes, *, only_new: bool) -> None:
    if not fresh.exists():
        _overwrite_or_restore(place, data)
    elif only_new:
        _link_into_place(fresh, place)
    else:
        try:
            fresh.replace(place)
        except OSError as error:
            if error.errno not in IMMOVABLE or not place.exists():
                raise
            _overwrite_or_restore(place, data)


def _link_into_place(fresh: Path, place: Path) -> None:
    """Link the new file into place: a link never replaces an existing file."""
    try:
        os.link(fresh, place)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise OSError(error.errno, error.strerror, str(place)) from None
        if os.path.lexists(place):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(place)) from None
        fresh.replace(place)


def _overwrite_or_restore(place: Path, data: bytes) -> None:
    """Write over the file without emptying it first, so that the old text keeps its room and can be put back."""
    before = place.read_bytes()
    try:
        _overwrite(place, data)
    except OSError as error:
        with suppress(OSError):
            _overwrite(place, before)
        raise OSError(error.errno, error.strerror, str(place)) from None


def _overwrite(place: Path, data: bytes) -> None:
    rest = memoryview(data)
    with place.open("r+b", buffering=0) as file:
        while rest:
            rest = rest[file.write(rest) or 0 :]
        file.truncate(len(data))


LONGEST = 100
"""The most characters; with a folder or two above, a path stays below the limit of Windows."""
DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Return a file name without its ending for each of the names, which share one folder."""
    stems = {name: escaped(name) for name in names}
    alike = Counter(stem.casefold() for stem in stems.values())
    return {
        name: stem if alike[stem.casefold()] == 1 and _is_fit(stem) else f"{stem[:LONGEST]}={_digest(name)}"
        for name, stem in stems.items()
    }


def _is_fit(stem: str) -> bool:
    return 0 < len(stem) <= LONGEST and stem.casefold() not in DEVICES


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:10]


SHOWN = 3


class InTheWay(Exception):
    """These files exist already, and nothing was written."""

    def __init__(self, paths: list[Path]) -> None:
        self.paths = paths
        more = f" and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
        super().__init__(", ".join(map(str, paths[:SHOWN])) + more)


def write_files(files: Mapping[Path, str], *, overwrite: bool = False) -> None:
    """Write the files. A file is overwritten in one step, and on a disk without room for all, none is. Raises InTheWay,
    or OSError."""
    existing = [path for path in files if os.path.lexists(path)]
    if existing and not overwrite:
        raise InTheWay(existing)
    for path in files:
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        write_whole({path: text.encode() for path, text in files.items()}, only_new=not overwrite)
    except FileExistsError as error:  # somebody else was faster
        raise InTheWay([Path(error.filename)]) from None


def other_yaml_files(folder: Path, files: Mapping[Path, str]) -> list[Path]:
    """Return other YAML files in the folder: they would be read together with these."""
    yaml_files = (path for ending in ("*.yaml", "*.yml") for path in folder.rglob(ending))
    return sorted(path for path in yaml_files if path not in files)
