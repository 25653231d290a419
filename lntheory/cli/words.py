"""Numbers in words."""

from __future__ import annotations

__all__ = ["counted", "interval"]


def counted(count: int, noun: str) -> str:
    """How many of what.

    Examples
    --------
    >>> counted(1, "layer"), counted(1200, "layer")
    ('1 layer', '1,200 layers')
    """
    return f"{count} {noun}" if count == 1 else f"{count:,} {noun}s"


def interval(bounds: tuple[float, float] | None) -> str:
    """Bounds of a number; one number if six digits do not tell them apart.

    Examples
    --------
    >>> interval((0.25, 0.25)), interval((0.1, 0.2)), interval(None)
    ('0.25', '[0.1, 0.2]', 'undefined')
    """
    if bounds is None:
        return "undefined"
    lower, upper = bounds
    return f"{lower:.6g}" if f"{lower:.6g}" == f"{upper:.6g}" else f"[{lower:.3g}, {upper:.3g}]"
