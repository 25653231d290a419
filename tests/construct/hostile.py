"""Labelled samples that break geometry: degenerate, clustered, of every scale that floats have."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

KINDS = [
    "normal",
    "one feature",
    "collinear",
    "affinely dependent",
    "lattice",
    "cocircular",
    "clusters",
    "ulps apart",
    "scaled",
    "scaled columns",
    "scaled entries",
    "any floats",
    "subnormal",
    "shifted",
    "duplicates",
    "signed zeros",
]


@st.composite
def samples(draw: st.DrawFn, max_samples: int = 12) -> Any:
    """Samples of shape (n_samples, n_features), most often distinct."""
    m, d = draw(st.integers(1, max_samples)), draw(st.integers(1, 3))
    kind = draw(st.sampled_from(KINDS))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(m, d))
    lattice = rng.integers(-4, 5, (m, d)).astype(float)
    angle = rng.integers(0, 12, m) * (np.pi / 6)
    with np.errstate(over="ignore"):
        return {
            "normal": X,
            "one feature": X[:, :1],
            "collinear": lattice[:, :1] * rng.integers(-2, 3, d) + rng.integers(-2, 3, d),
            "affinely dependent": np.column_stack([lattice, lattice.sum(axis=1), np.full(m, 0.1)]),
            "lattice": lattice,
            "cocircular": np.stack([np.cos(angle), np.sin(angle)], axis=1),
            "clusters": rng.normal(size=(3, d))[rng.integers(0, 3, m)] + 1e-12 * X,
            "ulps apart": 1 + rng.integers(0, 16, (m, d)) * 2.0**-52,
            "scaled": X * draw(st.sampled_from([1e-300, 1e-150, 1e150, 1e300])),
            "scaled columns": X * 10.0 ** rng.integers(-300, 300, d),
            "scaled entries": X * 10.0 ** rng.uniform(-150, 150, (m, d)),
            "any floats": _any_floats(rng, (m, d)),
            "subnormal": lattice * 5e-324,
            "shifted": X + draw(st.sampled_from([1e3, -1e8, 1e8])),
            "duplicates": lattice[rng.integers(0, min(m, 4), m)],
            "signed zeros": rng.choice([-1.0, -0.0, 0.0, 1.0], (m, d)),
        }[kind]


def _any_floats(rng: np.random.Generator, shape: tuple[int, int]) -> Any:
    values = rng.integers(0, 2**64, shape, dtype=np.uint64).view(np.float64)
    return np.where(np.isfinite(values), values, np.finfo(float).max)


@st.composite
def labelled(draw: st.DrawFn, max_samples: int = 12) -> Any:
    """Samples and consistent labels: random, alternating along a feature, all different, all equal."""
    X = draw(samples(max_samples))
    m = len(X)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["two", "two", "alternating", "few", "all different", "one"]))
    y = {
        "two": rng.integers(0, 2, m),
        "alternating": np.argsort(np.argsort(X[:, 0], kind="stable")) % draw(st.integers(2, 3)),
        "few": rng.integers(0, 4, m),
        "all different": np.arange(m),
        "one": np.zeros(m, dtype=int),
    }[kind]
    return X, consistent(X, y)


def consistent(X: Any, y: Any) -> list[int]:
    """The labels, with those of equal samples made equal."""
    first: dict[tuple[float, ...], int] = {}
    return [
        first.setdefault(tuple((row + 0.0).tolist()), int(label)) for row, label in zip(X, y, strict=True)
    ]


def class_sizes(X: Any, y: Any) -> list[int]:
    """Numbers of distinct samples a class."""
    kept = {tuple((row + 0.0).tolist()): label for row, label in zip(np.asarray(X, float), y, strict=True)}
    labels = list(kept.values())
    return [labels.count(label) for label in dict.fromkeys(labels)]
