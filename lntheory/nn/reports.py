"""The reports of the probes: rows, tables, pictures and a verdict in words."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from lntheory.base.markdown import markdown_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["LayerNonlinearity", "LayerSeparability", "NonlinearityReport", "SeparabilityReport"]

Against = Literal["reference", "below", "above", "level", "undecided", "not compared"]

_LEVEL = 0.01  # two overlapping intervals whose union is at most this wide are called level
_COLOURS: dict[Against, str] = {
    "reference": "#000000",
    "below": "#0072b2",
    "above": "#d55e00",
    "level": "#999999",
    "undecided": "#e69f00",
    "not compared": "#cc79a7",
}


@dataclass(frozen=True)
class LayerSeparability:
    """Separability of one layer's activations.

    Attributes
    ----------
    layer : str
        The layer's name; "name (call 2)" for the second call within a forward pass.
    n_samples, n_features : int
    rank : int
        Number of directions in which the activations spread by more than their rounding.
    ssr, lssr : float or None
        `lntheory.ssr` and `lntheory.lssr` of the activations as they are; None if all activations coincide,
        where both are 0/0.
    lower, upper : float
        Bounds of LSSR in view of the rounding of the activations.
    """

    layer: str
    n_samples: int
    n_features: int
    rank: int
    ssr: float | None
    lssr: float | None
    lower: float
    upper: float

    @property
    def rests_on_rounding(self) -> bool:
        """Whether `lssr` depends on directions in which the activations spread no more than by rounding."""
        return self.lssr is not None and self.lssr < self.lower

    @property
    def shows_nothing(self) -> bool:
        """Whether the samples span as many dimensions as they can, so that *any* labels have LSSR 0."""
        return self.rank >= self.n_samples - 1

    def against(self, reference: LayerSeparability | None) -> Against:
        """The comparison of this layer's LSSR with that of the reference, by the intervals [lower, upper].

        ``below`` and ``above``: the intervals do not meet. ``level``: they meet, and their union is at most
        0.01 wide. ``undecided``: they meet, and their union is wider. ``not compared``: the samples are not
        the same, or they all coincide.
        """
        if reference is None:
            return "not compared"
        if self is reference:
            return "reference"
        if self.lssr is None or reference.lssr is None or self.n_samples != reference.n_samples:
            return "not compared"
        if self.upper < reference.lower:
            return "below"
        if self.lower > reference.upper:
            return "above"
        spread = max(self.upper, reference.upper) - min(self.lower, reference.lower)
        return "level" if spread <= _LEVEL else "undecided"


@dataclass(frozen=True)
class SeparabilityReport:
    """SSR and LSSR of layers, in the order of their calls; ``print`` shows a table and the verdict.

    Attributes
    ----------
    rows : tuple of LayerSeparability
        The reference, if there is one, comes first.
    reference : LayerSeparability or None
        The row with which the others are compared.
    not_called : tuple of str
        Layers that were chosen but never called.
    """

    rows: tuple[LayerSeparability, ...]
    reference: LayerSeparability | None
    not_called: tuple[str, ...] = ()

    @property
    def below(self) -> tuple[LayerSeparability, ...]:
        """The layers whose LSSR is below the reference's even in view of rounding."""
        return self._that_are("below")

    def _that_are(self, against: Against) -> tuple[LayerSeparability, ...]:
        return tuple(row for row in self.rows if row.against(self.reference) == against)

    @property
    def verdict(self) -> str:
        """The layers that go below the reference's LSSR, in words, and those for which it is undecided."""
        return " ".join(self._sentences())

    def _sentences(self) -> list[str]:
        sentences = [self._main()]
        undecided = self._that_are("undecided")
        if undecided and self.reference is not None and self.reference.lower > 0:
            sentences.append(
                f"Undecided, for rounding leaves more than {_LEVEL:g} open: {_named(undecided)}; "
                "a run in float64 decides."
            )
        rounding = [row for row in self.rows if row.rests_on_rounding]
        if rounding:
            names = ", ".join(row.layer for row in rounding)
            sentences.append(
                f"The LSSR of the numbers as computed is partly read from rounding, not counted: {names}."
            )
        shattered = [row for row in self.below if row.shows_nothing]
        if shattered:
            sentences.append(
                f"As many dimensions as samples, so that any labels have LSSR 0, in {_named(shattered)}: "
                "more samples show more."
            )
        others = self._that_are("not compared")
        if others and self.reference is not None:
            sentences.append(f"Not compared, for other or coinciding samples: {_named(others)}.")
        if self.not_called:
            sentences.append(f"Never called: {', '.join(self.not_called)}.")
        return sentences

    def _main(self) -> str:
        reference = self.reference
        if reference is None:
            return "Nothing to compare with: no reference."
        if reference.lssr is None:
            return f"Nothing to compare with: all samples of {reference.layer} coincide."
        if reference.lower <= 0:
            why = (
                "its samples span as many dimensions as they can; take more samples"
                if reference.shows_nothing
                else "it hangs on the rank of the samples or is 0"
            )
            return f"The LSSR of {reference.layer} cannot be told from 0 ({why}), so none is shown below it."
        compared = len(self.rows) - 1 - len(self._that_are("not compared"))
        lowest = sorted(self.below, key=lambda row: row.upper)
        line = (
            f"{len(lowest)} of {compared} layers go below the LSSR {reference.lssr:.6g} of "
            f"{reference.layer}, which no linear map does"
        )
        return f"{line}: {_named(lowest)}." if lowest else f"{line}."

    def to_markdown(self) -> str:
        """The table."""
        header = ("layer", "samples", "features", "rank", "SSR", "LSSR", "LSSR within", "against reference")
        return markdown_table(
            header,
            [
                (
                    row.layer,
                    str(row.n_samples),
                    str(row.n_features),
                    str(row.rank),
                    _number(row.ssr),
                    _number(row.lssr) + (" (rounding)" if row.rests_on_rounding else ""),
                    _interval(row.lower, row.upper) if row.lssr is not None else "-",
                    row.against(self.reference),
                )
                for row in self.rows
            ],
        )

    def __str__(self) -> str:
        return f"{self.to_markdown()}\n\n{self.verdict}"

    def plot(self) -> Figure:
        """LSSR against depth, with bars from lower to upper bound, the reference's level and the verdict.

        Returns
        -------
        matplotlib.figure.Figure
            A figure made without pyplot; save it with `lntheory.plotting.save_figure`.
        """
        figure = _figure(len(self.rows), self.verdict)
        axes = figure.subplots()
        if self.reference is not None and self.reference.lssr is not None:
            axes.axhspan(self.reference.lower, self.reference.upper, color="0.85", lw=0)
            axes.axhline(self.reference.lssr, color="0.4", ls="dashed", lw=1, label="LSSR of the reference")
        shown = [(x, row) for x, row in enumerate(self.rows) if row.lssr is not None]
        axes.plot([x for x, _ in shown], _heights(shown), color="0.7", lw=1, zorder=1)
        for against in dict.fromkeys(row.against(self.reference) for _, row in shown):
            of_it = [(x, row) for x, row in shown if row.against(self.reference) == against]
            xs, colour = [x for x, _ in of_it], _COLOURS[against]
            ends = np.array([(row.lower, row.upper) for _, row in of_it]).T
            axes.vlines(xs, *ends, color=colour, lw=4, alpha=0.4)
            axes.plot(xs, _heights(of_it), "o", color=colour, label=against, gid=against)
        rounding = [(x, row) for x, row in shown if row.rests_on_rounding]
        if rounding:
            values = np.array([row.lssr for _, row in rounding], dtype=np.float64)
            label = "LSSR read from rounding"
            axes.plot([x for x, _ in rounding], values, "x", color="0.5", label=label, gid="rounding")
        axes.set_xticks(range(len(self.rows)), [row.layer for row in self.rows], rotation=45, ha="right")
        lowest = min([row.lower for _, row in shown], default=0.0)
        axes.set_ylim(max(-0.03, lowest - 0.1), 1.03)
        axes.set(ylabel="LSSR", xlabel="layers in the order of their calls")
        _finish(axes)
        return figure


@dataclass(frozen=True)
class LayerNonlinearity:
    """Hessian indicator of one normalization at its inputs.

    Attributes
    ----------
    layer : str
        The layer's name; "name (call 2)" for the second call within a forward pass.
    kind : str
        A name that `lntheory.nn.make_norm` knows.
    n_vectors : int
        Number of vectors that were normalized: samples, tokens or pixels.
    n_features, num_groups : int
        Number of features, and of groups, of a vector.
    n_degenerate : int
        Number of vectors with a group of zero variance (for RMSNorm, a zero group), where the indicator is
        undefined; they are left out.
    n_below_eps : int
        Number of vectors with a group whose variance (mean square) is below the layer's eps. There the layer
        is nearly linear, whatever the indicator says, which does not take eps into account.
    mean : float or None
        Geometric mean of `lntheory.nonlinearity.hessian_indicator`, in units of the input to the power -4.
    smallest, largest : float or None
        None where all vectors are degenerate.
    amplification : float or None
        Geometric mean of `lntheory.nonlinearity.amplification` by the grouping; None without groups.
    least_amplification : float or None
        The least amplification of any vector.
    amplification_bound : float or None
        The amplification that no vector can go below.
    compared_groups : int or None
        The number of groups to which the amplification belongs.
    """

    layer: str
    kind: str
    n_vectors: int
    n_features: int
    num_groups: int
    n_degenerate: int
    n_below_eps: int
    mean: float | None
    smallest: float | None
    largest: float | None
    amplification: float | None
    least_amplification: float | None
    amplification_bound: float | None
    compared_groups: int | None


@dataclass(frozen=True)
class NonlinearityReport:
    """The nonlinearity of a model's norms at their inputs; ``print`` shows a table and the verdict.

    Attributes
    ----------
    rows : tuple of LayerNonlinearity
        In the order of the calls.
    left : tuple of (str, str)
        Norms that were not observed, with the reason.
    """

    rows: tuple[LayerNonlinearity, ...]
    left: tuple[tuple[str, str], ...] = ()

    @property
    def verdict(self) -> str:
        """The extremes, the amplification by groups, and where the indicator does not apply, in words."""
        known = [row for row in self.rows if row.mean is not None]
        sentences = []
        if known:
            low, high = min(known, key=_mean), max(known, key=_mean)
            sentences.append(
                f"The Hessian indicator is largest in {high.layer} ({_mean(high):.3g} in the geometric mean) "
                f"and smallest in {low.layer} ({_mean(low):.3g})."
            )
        else:
            sentences.append("The Hessian indicator is defined at no input that was seen.")
        for row in known:
            if row.amplification is not None and row.compared_groups is not None:
                sentences.append(
                    f"{row.layer}: {row.compared_groups} groups multiply it by {row.amplification:.4g}, "
                    f"by at least {row.least_amplification:.4g} (bound {row.amplification_bound:.4g})."
                )
        small = [f"{r.layer} ({r.n_below_eps} of {r.n_vectors})" for r in self.rows if r.n_below_eps]
        if small:
            sentences.append(f"Variance below eps, so nearly linear there: {', '.join(small)}.")
        flat = [f"{r.layer} ({r.n_degenerate} of {r.n_vectors})" for r in self.rows if r.n_degenerate]
        if flat:
            sentences.append(f"Zero variance, where it is undefined: {', '.join(flat)}.")
        if self.left:
            sentences.append("Not observed: " + "; ".join(f"{name}: {why}" for name, why in self.left) + ".")
        return " ".join(sentences)

    def to_markdown(self) -> str:
        """The table."""
        header = ("layer", "norm", "features", "groups", "vectors", "H, mean", "H, least", "H, most",
                  "amplification", "bound", "zero variance", "below eps")  # fmt: skip
        return markdown_table(
            header,
            [
                (
                    row.layer,
                    row.kind,
                    str(row.n_features),
                    str(row.num_groups),
                    str(row.n_vectors),
                    *map(_number, (row.mean, row.smallest, row.largest, row.amplification)),
                    _number(row.amplification_bound),
                    str(row.n_degenerate),
                    str(row.n_below_eps),
                )
                for row in self.rows
            ],
        )

    def __str__(self) -> str:
        return f"{self.to_markdown()}\n\n{self.verdict}"

    def plot(self) -> Figure:
        """The indicator against depth: geometric mean, least and largest, on a logarithmic axis.

        Zeros are left out.

        Returns
        -------
        matplotlib.figure.Figure
        """
        figure = _figure(len(self.rows), self.verdict)
        axes = figure.subplots()
        shown = [(x, row) for x, row in enumerate(self.rows) if row.smallest and row.largest and row.mean]
        xs = [x for x, _ in shown]
        values = np.array([(r.smallest, r.largest, r.mean) for _, r in shown], dtype=np.float64).reshape(
            -1, 3
        )
        axes.vlines(xs, values[:, 0], values[:, 1], color="#0072b2", lw=4, alpha=0.4, label="least to most")
        axes.plot(xs, values[:, 2], "o-", color="#0072b2", lw=1, label="geometric mean")
        axes.set_xticks(range(len(self.rows)), [row.layer for row in self.rows], rotation=45, ha="right")
        axes.set(ylabel="Hessian indicator H", xlabel="normalizations in the order of their calls")
        if shown:
            axes.set_yscale("log")
        _finish(axes)
        return figure


def _heights(rows: list[tuple[int, LayerSeparability]]) -> NDArray[np.float64]:
    """The heights of the points of the plot: LSSR, or its upper bound where LSSR depends on rounding."""
    return np.array([r.upper if r.rests_on_rounding else r.lssr for _, r in rows], dtype=np.float64)


def _mean(row: LayerNonlinearity) -> float:
    return math.nan if row.mean is None else row.mean


def _named(rows: list[LayerSeparability] | tuple[LayerSeparability, ...]) -> str:
    return ", ".join(f"{row.layer} ({_interval(row.lower, row.upper)})" for row in rows)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"


def _interval(lower: float, upper: float) -> str:
    """Both ends, in as many digits as they need to differ, at most six; one number if they agree in six."""
    low, high = f"{lower:.6g}", f"{upper:.6g}"
    return low if low == high else f"{low} to {high}"


def _figure(n_rows: int, verdict: str) -> Figure:
    from matplotlib.figure import Figure

    width = max(6.5, 2.0 + 0.5 * n_rows)
    figure = Figure(figsize=(width, 5.2), layout="constrained", dpi=150)
    figure.suptitle("\n".join(textwrap.wrap(verdict, int(14 * width))[:6]), fontsize=9, x=0.01, ha="left")
    return figure


def _finish(axes: Axes) -> None:
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=9)
