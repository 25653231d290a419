"""The figure of a record of the random-label table. Matplotlib is imported when it is drawn."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from ..run.record import Record
from .methods import METRIC, best_depths, best_settings, heading, linear_bound, net_of, norm_of, title
from .selection import Setting

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["figure"]

_COLOURS = {
    "linear": "0.35", "none": "0.6", "bn": "#E69F00", "ln": "#0072B2", "ln-g": "#009E73", "gn": "#56B4E9",
    "rms": "#D55E00", "rms-g": "#CC79A7",
}  # fmt: skip


def figure(record: Record) -> Figure:
    """Three panels: accuracy by depth, by number of groups, and by epoch; the linear bound in each.

    ::

        accuracy │  LN-G ╱       │   ╱╲         │    ____
                 │ ╱ LN ──       │ ╱    ╲       │ ╱‾ ____
                 │- - - linear - │- - - - - - - │╱- - - -
                 └── depth ──────┴── groups ────┴── epoch ──
    """
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(13.0, 5.8), layout="constrained", dpi=110)
    by_depth, by_groups, by_epoch = drawn.subplots(1, 3, sharey=True)
    settings = best_settings(record)
    _draw_depths(by_depth, settings)
    _draw_groups(by_groups, settings, net_of(record.runs[0].config).width)
    _draw_epochs(by_epoch, best_depths(settings))
    bound = linear_bound(record)
    for axes in (by_depth, by_groups, by_epoch):
        if bound is not None:
            axes.axhline(
                100 * bound, color=_COLOURS["linear"], ls="dashed", lw=1.2, label="linear bound, found"
            )
        axes.axhline(100 / record.data.n_classes, color="0.75", ls="dotted", lw=1, label="chance")
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=7.5, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.17))
    by_depth.set_ylim(bottom=0)
    by_depth.set_ylabel("final training accuracy, %")
    words = heading(record)
    if record.certified is not None:
        net = record.certified
        what = f"width {net.width}, depth {net.depth:,}" if net.depth else "a linear classifier"
        reached = f"{100 * net.accuracy:.2f} % of {net.n_samples:,} samples"
        words += f"\n(beside the trained nets: certified, {what}, {reached})"
    drawn.suptitle(words, fontsize=10.5)
    return drawn


def _draw_depths(axes: Axes, settings: Sequence[Setting]) -> None:
    curves: dict[tuple[str, int | None], list[Setting]] = {}
    for s in settings:
        if net_of(s.config).norm != "linear" and s.mean is not None:
            curves.setdefault(norm_of(s), []).append(s)
    for (norm, groups), points in curves.items():
        axes.errorbar(
            [net_of(s.config).depth for s in points],
            [100 * (s.mean or 0) for s in points],
            yerr=[100 * (s.deviation or 0) for s in points],
            **_style(norm, groups, curves), label=title(norm, groups), capsize=2, marker="o", ms=4,
        )  # fmt: skip
    axes.set_xscale("log", base=2)
    depths = sorted({net_of(s.config).depth for points in curves.values() for s in points})
    axes.set_xticks(depths, [str(depth) for depth in depths])
    axes.set(xlabel="depth (normalization layers)")


def _draw_groups(axes: Axes, settings: Sequence[Setting], width: int) -> None:
    nets = [(net_of(s.config), s) for s in settings if net_of(s.config).norm in ("ln", "ln-g")]
    depths = sorted({net.depth for net, _ in nets})
    places: set[int] = set()
    for place, depth in enumerate(depths):
        points = [(net.num_groups or 1, s) for net, s in nets if net.depth == depth and s.mean is not None]
        points.sort(key=lambda point: point[0])
        places |= {groups for groups, _ in points}
        axes.errorbar(
            [groups for groups, _ in points],
            [100 * (s.mean or 0) for _, s in points],
            yerr=[100 * (s.deviation or 0) for _, s in points],
            color=_shade(place, len(depths)), label=f"LN-G, depth {depth}", capsize=2, marker="o", ms=4,
        )  # fmt: skip
    axes.set_xscale("log", base=2)
    ticks = sorted(places)
    axes.set_xticks(ticks, [f"{g}\n({width // g})" for g in ticks], fontsize=8)
    axes.set(xlabel=f"groups (neurons a group, of {width}); 1 is LN")


def _draw_epochs(axes: Axes, settings: Sequence[Setting]) -> None:
    from matplotlib.ticker import MaxNLocator

    keys = {norm_of(s): None for s in settings}
    for s in settings:
        curves = [run.series(METRIC) for run in s.runs if not run.diverged]
        if curves:
            means = [100 * statistics.fmean(values) for values in zip(*curves, strict=True)]
            depth = net_of(s.config).depth
            label = title(*norm_of(s)) + (f" x {depth}" if depth else "")
            axes.plot(range(1, len(means) + 1), means, **_style(*norm_of(s), keys), label=label)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(xlabel="epoch (best depth and setting, mean over seeds)")


def _style(norm: str, groups: int | None, keys: Collection[tuple[str, int | None]]) -> dict[str, Any]:
    """A colour a norm; norms with groups from dark (few) to light (many)."""
    if groups is None:
        return {"color": _COLOURS.get(norm, "0.5"), "lw": 1.6}
    counts = sorted(g for n, g in keys if n == norm and g is not None)
    return {"color": _shade(counts.index(groups), len(counts)), "lw": 1.6}


def _shade(place: int, count: int) -> Any:
    from matplotlib import colormaps

    return colormaps["viridis"](0.9 * (place + 0.5) / count)
