"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lntheory.errors import InvalidInputError

__all__ = ["replaced_directory_files", "replaced_file"]


@contextmanager
def replaced_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside `path`, to write to; on success the file is moved to `path`, else removed.

    The temporary path has the suffix of `path`, since some writers choose their format by it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replaced_file(Path(folder, "a.txt")) as beside:
    ...         _ = beside.write_text("whole")
    ...     Path(folder, "a.txt").read_text()
    'whole'
    """
    target = Path(path)
    beside = target.with_name(f".{target.stem}.{secrets.token_hex(4)}.tmp{target.suffix}")
    try:
        yield beside
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def replaced_directory_files(directory: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary folder beside `directory`, to write files to; on success all move into `directory`.

    ::

        out/.digits-x1y2/net.json ─┐
        out/.digits-x1y2/data.npz ─┴─ success ─► out/digits/   (other files there stay as they are)
                                   └─ failure ─► removed, out/digits is as it was

    The folder lies on the same file system, so every move is a rename.

    Raises
    ------
    InvalidInputError
        If `directory` exists and is a file.
    """
    target = Path(directory)
    if target.exists() and not target.is_dir():
        raise InvalidInputError(f"{target} is a file, not a directory; choose another place for the results")
    made = _made_parents(target)
    staging = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        yield staging
        target.mkdir(exist_ok=True)
        for path in sorted(staging.iterdir()):
            os.replace(path, target / path.name)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        for parent in made:  # only folders that were made here, and only while they are empty
            if not any(parent.iterdir()):
                parent.rmdir()


def _made_parents(target: Path) -> list[Path]:
    """Make the parent folders of `target`; return those that did not exist before, the innermost first."""
    missing = [parent for parent in target.absolute().parents if not parent.exists()]
    target.parent.mkdir(parents=True, exist_ok=True)
    return missing
