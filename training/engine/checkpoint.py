"""Checkpoint files: whole or not there, checked by a hash before anything is read, never executed.

::

    lntheory checkpoint 1 <SHA-256 of the rest, 64 hex digits>\\n
    <torch.save of plain values and tensors; read with weights_only=True>

The hash is ours, since torch reads a tensor with a flipped bit without complaint.
"""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path
from typing import Any

import torch

from lntheory.base.files import replaced_file
from lntheory.errors import FileFormatError, InvalidInputError

__all__ = ["checked_folder", "load", "save"]

_MAGIC = b"lntheory checkpoint 1 "
_HEADER = len(_MAGIC) + 64 + 1


def checked_folder(path: Path) -> Path:
    """A place for checkpoints; better refused now than after an epoch."""
    for parent in (path, *path.absolute().parents):
        if parent.exists() and not parent.is_dir():
            raise InvalidInputError(f"folder {path}: {parent} is a file, not a folder; choose another place")
    return path


def save(path: str | os.PathLike[str], state: dict[str, Any]) -> None:
    """Write `state` (plain values and tensors, nested) beside `path`, then move it into place.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(Path(folder, "run.ckpt"), {"step": 3, "weight": torch.ones(2)})
    ...     load(Path(folder, "run.ckpt"))
    {'step': 3, 'weight': tensor([1., 1.])}
    """
    buffer = io.BytesIO()
    torch.save(state, buffer)
    payload = buffer.getvalue()
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with replaced_file(path) as beside:
        beside.write_bytes(_MAGIC + hashlib.sha256(payload).hexdigest().encode() + b"\n" + payload)


def load(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The state that `save` wrote, on the CPU.

    Raises
    ------
    FileFormatError
        If the file is no checkpoint, cut off, changed, or holds anything but plain values and tensors.
    """
    raw = Path(path).read_bytes()
    if not raw.startswith(_MAGIC):
        raise FileFormatError(
            f"{path}: not a checkpoint of this version; expected {_MAGIC.decode().rstrip()!r}, "
            f"found {raw[: len(_MAGIC)]!r}. Give another path, or remove the file to start anew"
        )
    payload = raw[_HEADER:]
    if raw[len(_MAGIC) : _HEADER] != hashlib.sha256(payload).hexdigest().encode() + b"\n":
        raise FileFormatError(
            f"{path}: corrupt or cut off ({len(raw)} bytes), its hash does not fit; remove it to start anew"
        )
    try:
        state = torch.load(io.BytesIO(payload), map_location="cpu", weights_only=True)
    except Exception as error:  # whatever torch's reader trips on, the file is not ours
        raise FileFormatError(f"{path}: holds no plain values and tensors ({_first_line(error)})") from None
    if not isinstance(state, dict):
        raise FileFormatError(f"{path}: holds a {type(state).__name__}, expected a dict")
    return state


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:100]
