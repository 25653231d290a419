"""What a record says of the program and the machine that made it. No torch, unless it is already there."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from importlib import metadata
from pathlib import Path

import lntheory

from .record import Device

__all__ = ["device_of", "source_sha256", "versions"]


def source_sha256() -> str:
    """SHA-256 of the program: of all ``.py`` files of the library and of this package, with their names.

    Examples
    --------
    >>> len(source_sha256())
    64
    """
    digest = hashlib.sha256()
    for name, root in (("lntheory", Path(lntheory.__file__).parent), ("training", Path(__file__).parents[1])):
        for path in sorted(root.rglob("*.py")):
            if path.relative_to(root).parts[0] in ("training", "proofs_checks"):
                continue  # inside the library where it is installed, beside it in a checkout
            digest.update(f"{name}/{path.relative_to(root).as_posix()}\n".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """Of Python, of the library and of the packages that decide the numbers."""
    known = {"python": platform.python_version(), "lntheory": lntheory.__version__}
    for package in ("torch", "lightning", "numpy", "python-flint"):
        try:
            known[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return known


def device_of(device: str, threads: int) -> Device:
    """Where runs are trained that are asked for on `device`."""
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    torch = sys.modules.get("torch")
    if device != "cpu" and torch is not None and torch.cuda.is_available():
        name = torch.cuda.get_device_name()
        return Device(kind="cuda", name=name, threads=threads, processes=processes)
    name = f"{_processor()}, {os.cpu_count()} cores"
    return Device(kind="cpu", name=name, threads=threads, processes=processes)


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        names = [
            line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")
        ]
    except OSError:
        names = []
    return names[0] if names and names[0] else platform.processor() or platform.machine() or "CPU"
