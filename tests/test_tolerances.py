"""Tolerances stand in `tests/tolerances.py`, with what they allow for, and nowhere else."""

import ast
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
SMALL = 1e-2
"""Larger numbers are values that a test is about, not tolerances."""


def number(node):
    """The value of an expression of numbers; None of any other."""
    allowed = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
    if not all(isinstance(part, allowed) for part in ast.walk(node)):
        return None
    value = eval(compile(ast.Expression(node), "<number>", "eval"))
    return value if isinstance(value, int | float) else None


def has_small_number(node):
    parts = (part for part in ast.walk(node) if isinstance(part, ast.Constant | ast.BinOp))
    return any(0 < abs(value) <= SMALL for part in parts if (value := number(part)) is not None)


def tolerances_in(source):
    """Lines with a number for rtol, atol, rel or abs, or an asserted bound with a small number in it."""
    lines = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            given = [keyword for keyword in node.keywords if keyword.arg in ("rtol", "atol", "rel", "abs")]
            lines |= {keyword.value.lineno for keyword in given if has_small_number(keyword.value)}
        elif isinstance(node, ast.Assert):
            for compared in (part for part in ast.walk(node) if isinstance(part, ast.Compare)):
                bounds = zip(compared.ops, compared.comparators, strict=True)
                lines |= {
                    b.lineno for op, b in bounds if isinstance(op, ast.Lt | ast.LtE) and has_small_number(b)
                }
    return sorted(lines)


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("test_*.py")), ids=lambda path: path.stem)
def test_tolerances_have_a_name_and_a_reason(path):
    exact = "2.0**-300, 0) <= proved.margin"  # an exact value, attained
    lines = path.read_text(encoding="utf-8").splitlines()
    stray = [i for i in tolerances_in("\n".join(lines)) if exact not in lines[i - 1]]
    assert path.name == "test_tolerances.py" or not stray


def test_that_check_sees_them():
    planted = (
        "assert_allclose(a, b, rtol=1e-9)\nassert a == approx(b, abs=2.0**-40)\nassert abs(a - b) < 3 * 1e-12"
    )
    assert tolerances_in(planted) == [1, 2, 3]
    assert tolerances_in("assert_allclose(a, b, rtol=LAYER_NORM, atol=0)\nassert f(1e-9) < 3\nx < 1e-3") == []
