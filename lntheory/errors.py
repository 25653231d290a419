"""The library's own errors: what is wrong, where, and what to do about it.

```
LNTheoryError
├── InvalidInputError (ValueError)        data that no routine can use: shapes, NaN, infinities
│   ├── DegenerateInputError              data on which the quantity is undefined (zero variance, 0/0)
│   ├── ConflictingLabelsError            equal samples with different labels
│   └── FileFormatError                   a file that is not what it claims to be
├── MissingDependencyError (ImportError)  an optional package is not installed
├── RefutedError                          a certificate was asked for something false
└── UndecidedError                        the precision limit was reached before a decision

RankWarning (UserWarning)                 a float result depends on a rank that a cut-off decided
```

Every message names the sample, shape, field or number that is at fault and ends with the remedy.
"""

from __future__ import annotations

from collections.abc import Sequence


class LNTheoryError(Exception):
    """Base of every error that this library raises on purpose."""


class InvalidInputError(LNTheoryError, ValueError):
    """The input has a shape, type or value that the routine cannot take."""


class DegenerateInputError(InvalidInputError):
    """The quantity asked for is undefined on this input (zero variance, coinciding samples)."""


class ConflictingLabelsError(InvalidInputError):
    """Two equal samples carry different labels, so no function of the samples can fit them."""


class FileFormatError(InvalidInputError):
    """A file is corrupt, truncated, of an unknown version or not of the format it claims."""


class MissingDependencyError(LNTheoryError, ImportError):
    """A part of the library was imported whose optional dependency is not installed."""


class RefutedError(LNTheoryError):
    """The statement is proved false.

    Attributes
    ----------
    samples : tuple of int
        Indices of the samples that refute it.
    """

    def __init__(self, message: str, samples: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.samples = tuple(samples)


class UndecidedError(LNTheoryError):
    """Neither the statement nor its negation could be proved within the precision limit.

    Attributes
    ----------
    samples : tuple of int
        Indices of the samples left undecided.
    precision : int
        The precision limit, in bits, at which the attempt ended.
    """

    def __init__(self, message: str, samples: Sequence[int] = (), precision: int = 0) -> None:
        super().__init__(message)
        self.samples = tuple(samples)
        self.precision = precision


class RankWarning(UserWarning):
    """A float result depends on which singular values the cut-off took for zero."""


def excerpt(value: object, longest: int = 60) -> str:
    """The repr of a value, cut to `longest` characters, as messages quote values from outside the library.

    Examples
    --------
    >>> excerpt("a" * 100, longest=12)
    "'aaaaaaaa..."
    """
    text = repr(value)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."
