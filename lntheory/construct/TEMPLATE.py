"""A construction to copy: name the file by its noun, rewrite `build`, and register it in `methods.py`.

This one is complete and right: it draws random first layers and takes the first one that puts the samples on
the circle in an order that affine scores can read (one layer). If none does, it merges.

::

    samples ──► random first layer ──► readable on the circle? ──► read-out
                      ▲                      │ no
                      └──── DRAWS times ◄────┴──► minority-merge

A construction has to keep these promises:

* `build` takes any `Problem` (distinct samples of any dimension and scale, two classes or more, any labels)
  and returns a `Built` net that `lntheory.exact.certify` proves right. A problem that it cannot solve it
  hands to a construction that can.
* `guaranteed_depth` is proved in the module's docstring, and a claim of `proofs_checks` checks it.
* The same problem and generator give the same net.

`tests/construct/test_constructions.py` holds every registered construction to this.
"""

from __future__ import annotations

from itertools import islice

import numpy as np

from lntheory.circle.runs import is_readable
from lntheory.construct import plane
from lntheory.construct.arithmetic import Float64
from lntheory.construct.built import Built, Method
from lntheory.construct.first_layer import FirstLayer, first_layer, powers_of_two, projections
from lntheory.construct.gaps import arc_safety
from lntheory.construct.problem import Problem
from lntheory.construct.projection_merge import MINORITY_MERGE
from lntheory.construct.readout import margin, readout
from lntheory.construct.target import FLOAT64
from lntheory.network import Layer

DRAWS = 50
"""Number of first layers drawn."""
SAFE = 4.0
"""Smallest gap / error accepted, since a float64 pass may be right by luck."""
FLOATS = Float64()


def build(problem: Problem) -> Built:
    """A net of one random layer, if one of `DRAWS` is right; otherwise that of minority-merge."""
    scale = powers_of_two(problem.X)
    movable = np.ones(len(problem.X), dtype=bool)
    drawn = projections(problem.X * scale, problem.codes, movable, False, problem.rng)
    for number, projection in enumerate(islice(drawn, DRAWS), 1):
        with FLOATS.working():  # overflow and 0/0 raise nothing here: such a layer is not safe, and not taken
            rows, offsets = projection.rows(problem.X * scale, FLOATS)
            built = _read_out(problem, first_layer(problem.X, scale, rows, offsets, FLOATS))
        if built is not None and built.is_carried(problem.X, problem.codes, FLOAT64, passes=0):
            return built
        problem.report(number, DRAWS)
    return MINORITY_MERGE.build(problem)


def _read_out(problem: Problem, layer: FirstLayer) -> Built | None:
    """The net with this layer, if affine scores read out the samples from the circle safely; else None."""
    order = np.argsort(layer.planar[:, 1] / layer.planar[:, 0], kind="stable")
    points, codes = plane.directions(layer.planar, FLOATS)[order], problem.codes[order]
    errors = layer.errors[order]
    safety = arc_safety(points, errors, codes)
    if not safety >= SAFE or not is_readable(codes):
        return None
    scores = readout(points, codes, problem.n_classes, FLOATS)
    safety = min(safety, margin(points, codes, errors, scores, FLOATS))
    return Built((Layer(layer.weight, layer.bias),), Layer(*scores), safety) if safety >= SAFE else None


METHOD = Method(
    name="one-layer-first",
    summary="a random first layer after which affine scores can read the labels, else minority-merge",
    build=build,
    guaranteed_depth=MINORITY_MERGE.guaranteed_depth,
)
