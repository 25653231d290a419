"""Numbers as curves: runs and gaps against the layer, amplification against the number of groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator
from numpy.typing import ArrayLike

from lntheory.base.types import FloatArray
from lntheory.base.validation import as_samples
from lntheory.circle import Trajectory
from lntheory.nonlinearity import amplification, amplification_bound, best_num_groups
from lntheory.plotting.style import BLUE, GREY, ORANGE, finish_curves, net_title, new_figure

__all__ = ["plot_amplification", "plot_runs"]

_RESOLUTION = float(np.finfo(np.float64).eps)
"""Angles near 1 that differ by less than this are equal in float64."""


def plot_runs(path: Trajectory) -> Figure:
    """Number of runs, and smallest gap between neighbours of unequal label, against the layer.

    A gap that is zero in float64 (different points of a dyadic net may be equal in float64) is drawn at the
    bottom with a marker of its own.

    Parameters
    ----------
    path : Trajectory

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from lntheory import shatter
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> figure = plot_runs(Trajectory.of(shatter(X, y), X, y))
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['number of runs', 'smallest gap (radians)']
    """
    figure = new_figure(7.5, 6.0)
    above, below = figure.subplots(2, 1, sharex=True)
    style: dict[str, Any] = {"marker": "o", "ms": 4} if path.depth <= 40 else {}
    _draw_runs(above, path, style)
    _draw_gaps(below, path, style)
    below.set_xlabel("layers applied")
    below.xaxis.set_major_locator(MaxNLocator(integer=True))
    below.set_xlim(0.5, path.depth + 0.5)
    for axes in (above, below):
        finish_curves(axes)
    figure.suptitle(net_title(path), fontsize=11)
    return figure


def _draw_runs(axes: Axes, path: Trajectory, style: dict[str, Any]) -> None:
    layers, present = np.arange(1, path.depth + 1), len(np.unique(path.labels))
    axes.step(
        layers, path.runs, where="mid", color=BLUE, label="runs of equal label around the circle", **style
    )
    axes.axhline(
        present, color=GREY, ls="dashed", lw=1, label=f"one run for each of {present} classes present"
    )
    axes.set_ylabel("number of runs")
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(frameon=False, fontsize=9)


def _draw_gaps(axes: Axes, path: Trajectory, style: dict[str, Any]) -> None:
    layers, gaps = np.arange(1, path.depth + 1), path.gaps
    axes.set_ylabel("smallest gap (radians)")
    if np.isnan(gaps).all():
        axes.text(0.5, 0.5, "one class only: no gap to show", transform=axes.transAxes, ha="center")
        return
    axes.set_yscale("log")
    positive = np.where(gaps > 0, gaps, np.nan)
    axes.plot(
        layers, positive, color=ORANGE, label="smallest gap between neighbours of unequal label", **style
    )
    if np.nanmin(gaps) < 1e-9:
        axes.axhline(_RESOLUTION, color=GREY, ls="dotted", lw=1, label="resolution of float64 at 1")
    unseen = layers[gaps == 0]
    if len(unseen):
        bottom = np.full(len(unseen), _RESOLUTION / 4)
        axes.plot(unseen, bottom, "x", color="black", ms=4, label="no gap that float64 can show")
    axes.legend(frameon=False, fontsize=9)


def plot_amplification(X: ArrayLike) -> Figure:
    """H(LN-G(g); x) / H(LN; x) of every sample, and its lower bound, against the number of groups g.

    Groups of three features or more are shown; for groups of two, ratio and bound are 0. The title says how
    close the samples come to the bound, which no sample goes below except by rounding.

    Parameters
    ----------
    X : array_like, shape (n_samples, n_features), n_features >= 3
        The inputs of the normalization.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InvalidInputError
        If there are fewer than three features, or a variance is zero; the message names the sample and group.

    Examples
    --------
    >>> figure = plot_amplification(np.random.default_rng(0).normal(size=(50, 48)))
    >>> figure.axes[0].get_xlabel()
    'number of groups g'
    """
    samples = as_samples(X)
    n_samples, d = samples.shape
    best = best_num_groups(d)
    groups = [g for g in range(1, d // 3 + 1) if d % g == 0]
    bounds = np.array([float(amplification_bound(d, g)) for g in groups])
    ratios = np.stack([np.asarray(amplification(samples, g)) for g in groups])
    figure = new_figure(7.5, 4.8)
    axes = figure.subplots()
    _draw_ratios(axes, groups, ratios)
    _draw_bounds(axes, groups, bounds, d, best)
    axes.set(xscale="log", yscale="log", xlabel="number of groups g")
    axes.set_ylabel("H(LN-G(g); x) / H(LN; x)")
    axes.set_xticks(groups, _labels_apart(groups))
    axes.xaxis.set_minor_locator(NullLocator())
    finish_curves(axes)
    axes.legend(frameon=False, fontsize=9)
    closest = float((ratios / bounds[:, np.newaxis])[1:].min()) if len(groups) > 1 else 1.0
    figure.suptitle(
        f"{n_samples} samples of {d} features: measured over bound at least {closest:.4g} for g > 1",
        fontsize=11,
    )
    return figure


def _draw_ratios(axes: Axes, groups: Sequence[int], ratios: FloatArray) -> None:
    """Samples side by side within a column, in their order, so that nothing is random."""
    n_samples = ratios.shape[1]
    spread = 2 ** np.linspace(-0.12, 0.12, n_samples) if n_samples > 1 else np.ones(1)
    axes.scatter(
        np.outer(groups, spread).ravel(), ratios.ravel(), s=9, color=BLUE, alpha=0.35, lw=0, gid="samples",
        label="samples",
    )  # fmt: skip
    axes.plot(groups, np.median(ratios, axis=1), "_", color=BLUE, ms=22, mew=2, label="median", gid="median")


def _draw_bounds(axes: Axes, groups: Sequence[int], bounds: FloatArray, d: int, best: int) -> None:
    real = np.geomspace(1, d / 3, 200)
    axes.plot(real, real * (d - 2 * real) / (d - 2), color=ORANGE, lw=1.2, label="bound $g(d - 2g)/(d - 2)$")
    axes.plot(groups, bounds, "o", color=ORANGE, ms=5, gid="bound")
    axes.axhline(d / 8, color=GREY, ls="dashed", lw=1, label=f"$d/8 = {d / 8:g}$")
    axes.axvline(best, color=GREY, ls="dotted", lw=1, label=f"largest bound: $g = {best}$")


def _labels_apart(groups: Sequence[int]) -> list[str]:
    """Tick labels, empty where they would overlap on a logarithmic axis."""
    labels, last = [], 0.0
    for g in groups:
        apart = g >= last * groups[-1] ** 0.055
        labels.append(str(g) if apart else "")
        last = g if apart else last
    return labels
