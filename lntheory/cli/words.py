"""Numbers in words."""

from __future__ import annotations

__all__ = ["counted", "interval"]


def counted(count: int, noun: str) -> str:
    """A count with its noun, in the singular or plural.

    Examples
    --------
    >>> counted(1, "layer"), counted(1200, "layer")
    ('1 layer', '1,200 layers')
    """
    return f"{count} {noun}" if count == 1 else f"{count:,} {noun}s"


def interval(bounds: tuple[float, float] | None) -> str:
    """Bounds of a number in words, or one number if they agree in six digits.

    Examples
    --------
    >>> interval((0.25, 0.25)), interval((0.1, 0.2)), interval(None)
    ('0.25', '[0.1, 0.2]', 'undefined')
    """
    if bounds is None:
        return "undefined"
    lower, upper = bounds
    return f"{lower:.6g}" if f"{lower:.6g}" == f"{upper:.6g}" else f"[{lower:.3g}, {upper:.3g}]"
