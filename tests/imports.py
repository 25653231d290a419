"""The graph of imports inside the package, read from its source; and the order of its rooms."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

PACKAGE = "lntheory"

ROOMS = (
    ("errors", "_version"),
    ("base",),
    ("normalization", "separability", "nonlinearity", "bounds"),
    ("data",),
    ("network",),
    ("exact",),
    ("circle",),
    ("construct",),
    ("vc", "plotting", "nn"),
    ("cli",),
    ("__main__",),
)
"""From the ground up: a room imports itself and the rooms of earlier lines, never those of its own line."""

ABOVE = ("training", "proofs_checks", "tests", "benchmarks")
"""What stands beside the package and above all its rooms; a wheel installs two of them inside it."""

FRONT = ("__init__", "cli", "__main__")
"""What may import the front of the package: itself, and the command."""


def sources(root: Path) -> dict[str, str]:
    """Source of every module below `root`, the folder of the package, by its full name."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = [root.name, *path.relative_to(root).with_suffix("").parts]
        found[".".join(parts).removesuffix(".__init__")] = path.read_text(encoding="utf-8")
    return found


def imports(module: str, modules: Mapping[str, str], *, is_package: bool) -> set[str]:
    """Modules of the package that a module imports, wherever in its source; but for type checkers only."""
    found = set()
    for node in _run(ast.parse(modules[module])):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = _base(module, node, is_package)
            names = [f"{base}.{alias.name}" for alias in node.names]
        elif _is_import_by_name(node):
            names = [ast.literal_eval(node.args[0])]
        else:
            continue
        found |= {resolved for name in names if (resolved := _resolved(name, modules))}
        found |= {f"{PACKAGE}.{top}" for name in names if (top := _above(name)) is not None}
    entered = {package for target in found for package in _packages(target) if package in modules}
    return {
        target for target in found | entered if not f"{module}.".startswith(f"{target}.") or target == PACKAGE
    }


def _is_import_by_name(node: ast.AST) -> bool:
    """Whether it is ``import_module("...")`` or ``__import__("...")`` of a name that stands there."""
    return (
        isinstance(node, ast.Call)
        and ast.unparse(node.func).rpartition(".")[2] in ("import_module", "__import__")
        and len(node.args) == 1
        and isinstance(node.args[0], ast.Constant)
    )


def _above(name: str) -> str | None:
    """The folder beside the package that a name belongs to, all of which stand above it."""
    parts = name.removeprefix(f"{PACKAGE}.").split(".")
    return parts[0] if parts[0] in ABOVE else None


def _packages(module: str) -> Iterator[str]:
    """The packages inside ours that are entered when a module is imported: their ``__init__`` is run."""
    parts = module.split(".")
    for length in range(2, len(parts)):
        yield ".".join(parts[:length])


def _run(node: ast.AST) -> Iterator[ast.AST]:
    """Everything that is executed at some time: all but the body of ``if TYPE_CHECKING:``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            children = child.orelse
        else:
            children = [child]
        for executed in children:
            yield executed
            yield from _run(executed)


def _base(module: str, node: ast.ImportFrom, is_package: bool) -> str:
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    parts = parts[: len(parts) - node.level + is_package]
    return ".".join([*parts, node.module] if node.module else parts)


def _resolved(name: str, modules: Mapping[str, str]) -> str | None:
    """The module that ``a.b.c`` means: itself, or the one that holds the name c."""
    if name in modules:
        return name
    parent = name.rpartition(".")[0]
    return parent if parent in modules else None


def graph(modules: Mapping[str, str]) -> dict[str, set[str]]:
    """What every module imports."""
    packages = {name.rpartition(".")[0] for name in modules}
    return {name: imports(name, modules, is_package=name in packages) for name in modules}


def room(module: str) -> str:
    """The room that a module belongs to; of the package itself, ``__init__``."""
    return module.split(".")[1] if "." in module else "__init__"


def violations(modules: Mapping[str, str]) -> list[str]:
    """Imports against the order of the rooms, imports of the front, and circles; in words."""
    level = {name: at for at, names in enumerate(ROOMS) for name in names}
    found, edges = [], graph(modules)
    for module, targets in edges.items():
        here = room(module)
        if here not in level and here != "__init__":
            found.append(f"{module} is in no room of the order")
        for target in sorted(targets):
            there = room(target)
            if there == "__init__":
                if here not in FRONT:
                    found.append(f"{module} imports the front of the package")
            elif here not in ("__init__", there) and level.get(there, 99) >= level.get(here, 99):
                found.append(f"{module} imports {target}, which stands above it or beside it")
    return found + [f"circle: {' -> '.join(circle)}" for circle in circles(edges)]


def circles(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """A circle through every module that is on one (the package's own front left out)."""
    edges = {module: targets for module, targets in edges.items() if module != PACKAGE}
    found = []
    for start in edges:
        paths = [[start]]
        seen = {start}
        while paths:
            path = paths.pop(0)
            for target in sorted(edges.get(path[-1], ())):
                if target == start:
                    found.append([*path, start])
                    paths = []
                    break
                if target not in seen and target != PACKAGE:
                    seen.add(target)
                    paths.append([*path, target])
    return found
