"""The register of constructions.

A new construction is a copy of `TEMPLATE.py` that makes a `Method`; it is imported here and named in
`METHODS`. Everything else (`shatter`, the command line, `guaranteed_depth`, the tests that all constructions
have to pass) reads this register.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from lntheory.construct.built import Method
from lntheory.construct.pair_merge import PAIRS
from lntheory.construct.portfolio import AUTO, FOLD
from lntheory.construct.projection_merge import MINORITY_MERGE, PROJECTION_MERGE
from lntheory.errors import InvalidInputError, excerpt

__all__ = ["METHODS", "guaranteed_depth", "method_named"]

METHODS: Mapping[str, Method] = MappingProxyType(
    {method.name: method for method in (AUTO, FOLD, PAIRS, MINORITY_MERGE, PROJECTION_MERGE)}
)
"""Every construction by its name, in the order in which messages list them."""


def method_named(name: str) -> Method:
    """The construction of this name.

    Raises
    ------
    InvalidInputError
        If there is none; the message lists all names.

    Examples
    --------
    >>> method_named("pairs").searches
    False
    """
    if not isinstance(name, str) or name not in METHODS:
        raise InvalidInputError(f"method={excerpt(name)}; choose one of {', '.join(METHODS)}")
    return METHODS[name]


def guaranteed_depth(
    class_sizes: Sequence[int], *, method: str = "auto", general_position: bool = False
) -> int:
    """Depth that a construction never exceeds, from the numbers of distinct samples in each class.

    Parameters
    ----------
    class_sizes : sequence of int
        The number of distinct samples in each class, at least 1.
    method : {"auto", "fold", "pairs", "minority-merge", "projection-merge"}
    general_position : bool
        Whether, after a generic projection to the plane (so n_features >= 2), no three samples are collinear
        and no three lines through disjoint pairs of samples are concurrent or parallel.

    Returns
    -------
    int
        0 for one class. For m samples in C >= 2 classes, k of them outside the largest class, and s the sum
        of ``ceil(k_c / 2)`` over the classes of two or more samples other than the largest:

        ======================  ===========================  =================================
        method                  general position             any distinct samples
        ======================  ===========================  =================================
        projection-merge        ``max(1, m - 2)``            ``max(1, m - 2)``
        minority-merge, auto    ``max(1, k - C + 1)``        ``k - C + 2``
        pairs, fold             ``max(1, s)``                ``s + 1``
        ======================  ===========================  =================================

        For two classes, minority-merge has k - 1 and k, and pairs ceil(k / 2) and one more. If all classes
        but the largest have one sample or four, and at least one has four, pairs has ``s + 1`` in
        general position too: in the plane one of the four may lie inside the triangle of the others.

    Raises
    ------
    InvalidInputError
        If there is no class, a class is empty, or the method does not exist.

    Examples
    --------
    >>> guaranteed_depth([50, 50]), guaranteed_depth([50, 50], general_position=True)
    (50, 49)
    >>> guaranteed_depth([50, 50], method="projection-merge")
    98
    """
    sizes = [int(size) for size in class_sizes]
    if not sizes or min(sizes) < 1:
        raise InvalidInputError(f"class_sizes={sizes}; give one positive number a class")
    chosen = method_named(method)
    return 0 if len(sizes) == 1 else chosen.guaranteed_depth(sizes, general_position)
