"""Which packages a wheel holds; all else is in pyproject.toml.

`proofs_checks` and `training` stand beside `lntheory` in a checkout and inside it in a wheel, so that a wheel
takes no top-level name but its own: ``python -m training`` in a folder of yours runs your `training`.

    checkout                 wheel, and an editable installation
    proofs_checks/           lntheory.proofs_checks     lntheory prove
    training/                lntheory.training          lntheory train
"""

from setuptools import find_packages, setup

INSIDE = ("proofs_checks", "training")

setup(
    packages=[
        *find_packages(include=["lntheory", "lntheory.*"]),
        *(f"lntheory.{name}" for name in find_packages(include=[*INSIDE, *(f"{name}.*" for name in INSIDE)])),
    ],
    package_dir={f"lntheory.{name}": name for name in INSIDE},
)
