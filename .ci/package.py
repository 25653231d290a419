"""Build wheel and sources, and try both as a user would: ``python .ci/package.py dist``.

    sources ──► unpacked elsewhere ──► their own tests
       │
       └─► wheel ──► empty environment, folder with a training/ and a proofs_checks/ of its own
                     ──► the commands work, and ``python -m training`` runs the folder's own

Whatever fails ends this with the exit code of what failed. Needs pip and a package index; takes minutes.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints.txt"
INSTALL = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
TESTS = (
    "tests/test_normalization.py",
    "tests/test_separability.py",
    "tests/test_imports.py",
    "tests/test_documents.py",
    "tests/cli/test_entry_points.py",
)


def run(*command: object, cwd: Path, expected: str = "") -> None:
    """Run a command; its standard output has to hold what is expected."""
    words = [str(word) for word in command]
    print("$", *words, flush=True)
    result = subprocess.run(words, cwd=cwd, stdout=subprocess.PIPE, text=True, check=False)
    if result.returncode or expected not in result.stdout:
        print(result.stdout, f"expected {expected!r}; exit code {result.returncode}", sep="\n")
        raise SystemExit(result.returncode or 1)


def built(folder: Path, work: Path) -> tuple[Path, Path]:
    """Wheel and sources; the wheel is made of the sources, not of the checkout."""
    python = environment(work / "build-environment", "build")
    run(python, "-m", "build", "--outdir", folder, ROOT, cwd=work)
    (wheel,), (sources,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sources


def environment(folder: Path, *requirements: object) -> Path:
    """The interpreter of a new environment that holds these requirements and nothing else."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    run(python, *INSTALL, "-c", CONSTRAINTS, *requirements, cwd=folder)
    return python


def try_wheel(python: Path, work: Path) -> None:
    """Commands work, and no folder of the user's is shadowed."""
    for name in ("training", "proofs_checks"):
        (work / name).mkdir()
        (work / name / "__main__.py").write_text(f'print("my own {name}")\n')
        run(python, "-m", name, cwd=work, expected=f"my own {name}")
    command = python.with_name("lntheory")
    run(command, "prove", "--only", "lssr-bounds", "--json", cwd=work, expected='"status": "proved"')
    run(command, "train", "--help", cwd=work, expected="Usage: lntheory train")
    run(command, "shatter", "xor", "--out", "net", cwd=work, expected="margin")
    run(python, "-m", "lntheory", "vc", "--depth", "2", cwd=work, expected="upper")


def try_sources(python: Path, sources: Path, work: Path) -> None:
    """The sources hold what their own tests need."""
    with tarfile.open(sources) as archive:
        archive.extractall(work, filter="data")
    (folder,) = work.iterdir()
    for needed in ("Makefile", "constraints.txt", "CITATION.cff", "docs/conf.py", "notebooks/01_xor.ipynb"):
        if not (folder / needed).is_file():
            raise SystemExit(f"{sources.name} lacks {needed}; see MANIFEST.in")
    run(python, *INSTALL, "--no-deps", "-e", folder, cwd=folder)
    run(python, "-m", "pytest", "-q", *TESTS, cwd=folder, expected="passed")


def main(folder: Path) -> None:
    """Build into the folder, which must hold no other wheel or sources."""
    with TemporaryDirectory() as name:
        work = Path(name)
        wheel, sources = built(folder, work)
        extra = ("pytest", "pytest-xdist", "hypothesis", "mpmath")
        python = environment(work / "environment", f"{wheel}[smt]", *extra)
        for part in ("user", "sources"):
            (work / part).mkdir()
        try_wheel(python, work / "user")
        try_sources(python, sources, work / "sources")
    print(f"{wheel.name} and {sources.name} work")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
