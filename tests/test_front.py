"""What `import lntheory` offers, what it costs, and what is said where an extra is missing."""

import importlib
import subprocess
import sys
from types import ModuleType

import pytest

import lntheory

MODULES = [
    "bounds",
    "circle",
    "construct",
    "data",
    "exact",
    "network",
    "nn",
    "nonlinearity",
    "plotting",
    "vc",
]


def printed(code):
    """What Python prints of some code in a fresh process, in which warnings are errors."""
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("name", MODULES)
def test_submodules_are_there_without_being_imported(name):
    if name == "nn":
        pytest.importorskip("torch")
    module = getattr(lntheory, name)
    assert isinstance(module, ModuleType)
    assert module is importlib.import_module(f"lntheory.{name}")


def test_every_public_name_is_there_and_listed():
    assert set(lntheory.__all__) | set(MODULES) <= set(dir(lntheory))
    for name in lntheory.__all__:
        assert getattr(lntheory, name) is not None
    assert callable(lntheory.separability)  # the verb, not the module of the same name
    assert callable(lntheory.shatter)


def test_what_is_not_there_is_not_there():
    assert not hasattr(lntheory, "nonsense")
    with pytest.raises(AttributeError, match="module 'lntheory' has no attribute 'nonsense'"):
        lntheory.nonsense  # noqa: B018


def test_a_first_use_imports_the_module_and_no_other():
    code = (
        "import sys, lntheory; lazy = ('matplotlib', 'torch', 'lntheory.construct'); "
        "print([name for name in lazy if name in sys.modules]); "
        "lntheory.plotting.plot_layers, lntheory.LNNet; "
        "print([name for name in lazy if name in sys.modules])"
    )
    assert printed(code).splitlines() == ["[]", "['matplotlib']"]


def test_without_torch_its_part_says_what_to_install():
    code = (
        "import sys; sys.modules['torch'] = None; import lntheory; "
        "from lntheory.errors import MissingDependencyError\n"
        "try:\n    lntheory.nn\nexcept MissingDependencyError as error:\n    print(error)\n"
        "lntheory.shatter, lntheory.plotting; print('nn' in dir(lntheory))"
    )
    assert printed(code).splitlines() == [
        "lntheory.nn needs torch; pip install 'lntheory[torch]'",
        "True",
    ]
