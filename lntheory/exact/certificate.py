"""Proofs that a net classifies samples correctly.

What is proved: for the parameters and the inputs as they are (binary numbers), in real arithmetic, the
read-out score of every sample's own class is larger than every other score. The proof is a computation in
ball arithmetic (`lntheory.network.enclosure`); this module knows nothing of how a net was made. The file
format of certificates is in `certificate_file`.

::

    net ───┐                                   ┌─ all margins > 0 ───► Certificate
           ├─► balls at 128 bits ─► margins ───┼─ some margin < 0 ───► RefutedError
    data ──┘       ▲                           └─ some contain 0 ──┐
                   └───── twice the bits for those samples ◄───────┴─ at the limit: UndecidedError
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import flint
import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from lntheory._version import __version__
from lntheory.base import jsonfile
from lntheory.base.rounding import float_down, float_up
from lntheory.base.types import FloatArray, Progress
from lntheory.base.validation import as_count, as_exact_samples, encode_labels
from lntheory.errors import (
    RefutedError,
    UndecidedError,
)
from lntheory.exact import certificate_file
from lntheory.exact.ssr_enclosure import Interval, enclosed_ssr_of_points, enclosed_ssr_of_samples
from lntheory.network import LNNet
from lntheory.network.enclosure import Enclosure, enclose, starting_precision
from lntheory.network.labels import as_label

__all__ = ["Certificate", "certify", "data_sha256", "verify"]

MAX_PRECISION = 8192
"""Default limit of the precision, in bits; a proof that would need more raises `UndecidedError`."""

METHODS = {
    "arcs": "arc enclosures on the circle (mean value theorem) in ball arithmetic",
    "balls": "ball arithmetic",
}


@dataclass(frozen=True)
class Certificate:
    """What `certify` proved about a net and labelled samples.

    Attributes
    ----------
    n_samples, n_classes, depth, width : int
        The sizes of the data and the net; `n_classes` counts the classes of the net.
    arithmetic : {"float64", "dyadic"}
        How the net holds its parameters.
    precision : int
        Bits of the ball arithmetic that decided the last sample.
    margin : float
        A proved lower bound on the smallest margin; positive.
    margins : tuple of float
        For every sample a proved lower bound, rounded down, on its margin: the right score minus the best
        other one; twice the absolute score for a one-row read-out; infinite for a net of one class.
        (A margin below the smallest float64 is positive by proof and rounds down to 0.)
    float64_wrong, float32_wrong : int or None
        How many samples the plain forward pass of that dtype (`LNNet.plain_scores`) got wrong on the machine
        of the proof: an observation, not a theorem. None for a dyadic net, which has no such pass.
    ssr_before, lssr_before, ssr_after, lssr_after : pair of float, or None
        Enclosures, rounded outwards, of SSR and LSSR of the samples and of the points after the last layer.
        None where all points coincide, so that the ratio is undefined, or where that could not be excluded.
    net_sha256, data_sha256 : str
        `LNNet.sha256` and `data_sha256`.
    method : str
        The kind of enclosure that the proof used.
    library_version : str
        Version of this library.
    """

    n_samples: int
    n_classes: int
    depth: int
    width: int
    arithmetic: str
    precision: int
    margin: float
    margins: tuple[float, ...]
    float64_wrong: int | None
    float32_wrong: int | None
    ssr_before: Interval | None
    lssr_before: Interval | None
    ssr_after: Interval | None
    lssr_after: Interval | None
    net_sha256: str
    data_sha256: str
    method: str
    library_version: str

    @property
    def float64_agrees(self) -> bool | None:
        """Whether the plain float64 pass classified every sample right; None for a dyadic net."""
        return None if self.float64_wrong is None else self.float64_wrong == 0

    @property
    def float32_agrees(self) -> bool | None:
        """Whether the plain float32 pass classified every sample right; None for a dyadic net."""
        return None if self.float32_wrong is None else self.float32_wrong == 0

    def to_dict(self) -> dict[str, Any]:
        """The certificate as a JSON-able mapping; an infinite margin is None."""
        return certificate_file.to_dict(asdict(self))

    @classmethod
    def from_dict(cls, data: Any) -> Certificate:
        """The certificate of a mapping as `to_dict` gives it; `FileFormatError` names the field at fault."""
        return cls(**certificate_file.from_dict(data))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate to a JSON file; it appears whole or not at all."""
        certificate_file.write(path, asdict(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Certificate:
        """Read a certificate; `FileFormatError` names file and field. It proves nothing: `verify` does."""
        return cls(**certificate_file.read(path))


# -------------------------------------------------------------------------------------------------- proofs


def certify(
    net: LNNet,
    X: ArrayLike,
    y: Iterable[Any],
    *,
    max_precision: int = MAX_PRECISION,
    progress: Progress | None = None,
) -> Certificate:
    """Prove that the net gives every sample its label.

    The statement: for these parameters and these inputs as they are, in real arithmetic, the score of
    the right class exceeds every other score, for every sample. It is proved in ball arithmetic.

    Parameters
    ----------
    net : LNNet
    X : array_like, shape (n_samples, n_features)
        Taken as float64, that is, as binary numbers.
    y : iterable, shape (n_samples,)
        Labels; each must equal one of ``net.classes``.
    max_precision : int, default 8192
        Limit of the precision in bits. Precision starts low and doubles for the samples still undecided.
    progress : callable (done, total), optional
        Called after every layer; the count starts again whenever the precision is raised.

    Returns
    -------
    Certificate

    Raises
    ------
    RefutedError
        If a sample provably gets another class, has a label that the net does not know, or zero variance at
        a layer. ``.samples`` names them.
    UndecidedError
        If at `max_precision` some margin still cannot be told from zero; an exact tie always ends here.
    InvalidInputError
        If X or y are not samples and labels of the net's kind.

    Examples
    --------
    >>> from lntheory.network import Layer, LNNet
    >>> net = LNNet([Layer([[1], [0], [0]], [0, 0, 1])], Layer([[1, -1, 0]], [0]), ["low", "high"])
    >>> certificate = certify(net, [[-2.0], [3.0]], ["low", "high"])
    >>> certificate.precision, certificate.margin > 0, certificate.float32_agrees
    (128, True, True)
    >>> certify(net, [[-2.0], [3.0]], ["low", "low"])
    Traceback (most recent call last):
        ...
    lntheory.errors.RefutedError: sample 1 does not get its label (its margin is at most -4.810702354423637)

    References
    ----------
    Ni, Guo, Jia, Huang, ICML 2024 (arXiv 2406.01255): the nets whose existence the paper proves.
    """
    return _prove(net, X, y, starting_precision(net), max_precision, progress)


def verify(
    net: LNNet,
    X: ArrayLike,
    y: Iterable[Any],
    certificate: Certificate,
    *,
    max_precision: int = MAX_PRECISION,
    progress: Progress | None = None,
) -> Certificate:
    """Prove everything again from net and data, and check that the certificate claims no more.

    Nothing in the certificate is believed. Hashes and counts must be those of net and data; every margin
    claimed must be at most the one proved here, every enclosure must contain the one proved here, and where
    the certificate says that a plain float pass is right, the pass must be right on this machine.

    Parameters
    ----------
    net, X, y, max_precision, progress
        As for `certify`.
    certificate : Certificate
        The claims to check.

    Returns
    -------
    Certificate
        The result of the new proof.

    Raises
    ------
    RefutedError
        If a claim is false, or stronger than what is proved here; the message names the claim.
    UndecidedError, InvalidInputError
        As for `certify`.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from lntheory.network import Layer, LNNet
    >>> net = LNNet([Layer([[1], [0], [0]], [0, 0, 1])], Layer([[1, -1, 0]], [0]), ["low", "high"])
    >>> X, y = [[-2.0], [3.0]], ["low", "high"]
    >>> certificate = certify(net, X, y)
    >>> verify(net, X, y, certificate) == certificate
    True
    >>> verify(net, X, y, replace(certificate, n_samples=3))
    Traceback (most recent call last):
        ...
    lntheory.errors.RefutedError: the certificate claims n_samples = 3, proved here: 2
    """
    labels = list(y) if not isinstance(y, np.ndarray) else y
    samples = as_exact_samples(X, net.n_features)
    hashes = (("net_sha256", net.sha256), ("data_sha256", data_sha256(samples, labels)))
    for name, value in hashes:  # cheap, so before the proof
        _require(getattr(certificate, name) == value, certificate, name, value)
    start = max(starting_precision(net), min(certificate.precision, max_precision))
    proved = _prove(net, samples, labels, start, max_precision, progress)
    _compare(certificate, proved)
    return proved


def data_sha256(X: ArrayLike, y: Iterable[Any]) -> str:
    r"""SHA-256 of labelled samples, in hexadecimal.

    The bytes that are hashed: the shape as ``"<n_samples> <n_features>\n"`` in ASCII; the samples as
    float64, little-endian, in C order; the labels as a JSON array (no spaces, ASCII escapes, numpy scalars as
    Python ones).

    Parameters
    ----------
    X : array_like, shape (n_samples, n_features)
    y : iterable, shape (n_samples,)
        Labels that JSON can hold: str, int, float or bool.

    Raises
    ------
    InvalidInputError
        If X is not finite or has the wrong shape, if y has another length, or if a label is of another type.

    Examples
    --------
    >>> import hashlib, struct
    >>> by_hand = b"2 1\n" + struct.pack("<2d", -2.0, 3.0) + b'["low","high"]'
    >>> data_sha256([[-2.0], [3.0]], ["low", "high"]) == hashlib.sha256(by_hand).hexdigest()
    True
    """
    samples = as_exact_samples(X)
    labels = [as_label(label, f"y[{i}]") for i, label in enumerate(_labels(y, len(samples)))]
    digest = hashlib.sha256(f"{samples.shape[0]} {samples.shape[1]}\n".encode("ascii"))
    digest.update(np.ascontiguousarray(samples, dtype="<f8").tobytes())
    digest.update(jsonfile.canonical(labels).encode("ascii"))
    return digest.hexdigest()


def _prove(
    net: LNNet, X: ArrayLike, y: Iterable[Any], precision: int, max_precision: int, progress: Progress | None
) -> Certificate:
    samples = as_exact_samples(X, net.n_features)
    labels = _labels(y, len(samples))
    right = _class_indices(net, labels)
    max_precision = as_count(max_precision, "max_precision", 2)
    precision = min(precision, max_precision)

    margins: list[float] = [0.0] * len(samples)
    points: list[list[arb]] = [[]] * len(samples)
    left = list(range(len(samples)))
    while True:
        enclosure = enclose(net, samples[left], precision=precision, progress=progress)
        with flint.ctx.workprec(precision):
            balls = [_margin(net, scores, right[i]) for i, scores in zip(left, enclosure.scores, strict=True)]
        _refuse(net, enclosure, balls, left)
        for i, ball, point in zip(left, balls, enclosure.points, strict=True):
            margins[i], points[i] = float_down(ball), point
        undecided = [i for i, ball in zip(left, balls, strict=True) if not ball > 0]
        if not undecided:
            break
        if precision >= max_precision:
            raise _undecided(enclosure, left, undecided)
        left, precision = undecided, min(2 * precision, max_precision)

    before = enclosed_ssr_of_samples(samples, labels)
    with flint.ctx.workprec(precision):
        after = enclosed_ssr_of_points(net, points, right) if net.depth else before
    float64_wrong, float32_wrong = (
        (_plain_wrong(net, samples, right, np.float64), _plain_wrong(net, samples, right, np.float32))
        if net.arithmetic == "float64"
        else (None, None)
    )
    return Certificate(
        n_samples=len(samples),
        n_classes=len(net.classes),
        depth=net.depth,
        width=net.width,
        arithmetic=net.arithmetic,
        precision=precision,
        margin=min(margins),
        margins=tuple(margins),
        float64_wrong=float64_wrong,
        float32_wrong=float32_wrong,
        ssr_before=before[0],
        lssr_before=before[1],
        ssr_after=after[0],
        lssr_after=after[1],
        net_sha256=net.sha256,
        data_sha256=data_sha256(samples, labels),
        method=METHODS[enclosure.method],
        library_version=__version__,
    )


def _labels(y: Iterable[Any], n_samples: int) -> list[Any]:
    codes, classes = encode_labels(y, n_samples)
    return [classes[code] for code in codes]


def _class_indices(net: LNNet, labels: Sequence[Any]) -> NDArray[np.intp]:
    index = {label: k for k, label in enumerate(net.classes)}
    unknown = [i for i, label in enumerate(labels) if label not in index]
    if unknown:
        raise RefutedError(
            f"the label {labels[unknown[0]]!r} of sample {unknown[0]} is not among the net's classes"
            f"{_and_others(unknown)}; is the net for other data?",
            unknown,
        )
    return np.array([index[label] for label in labels], dtype=np.intp)


def _margin(net: LNNet, scores: Sequence[arb], right: int) -> arb:
    """The right score minus the best other; twice the signed score for a one-row read-out."""
    if len(net.classes) == 1:
        return arb.pos_inf() if scores[0].is_finite() else arb.nan()  # NaN: the net may be undefined there
    if len(scores) == 1:
        return scores[0] * (2 if right == 1 else -2)
    leads = [scores[right] - score for k, score in enumerate(scores) if k != right]
    smallest = leads[0]
    for lead in leads[1:]:
        smallest = smallest.min(lead)
    return smallest


def _refuse(net: LNNet, enclosure: Enclosure, balls: Sequence[arb], left: Sequence[int]) -> None:
    """Raise `RefutedError` if some sample provably has zero variance at a layer or a negative margin."""
    if enclosure.degenerate:
        samples = [left[i] for i in sorted(enclosure.degenerate)]
        layer = enclosure.degenerate[min(enclosure.degenerate)]
        raise RefutedError(
            f"sample {samples[0]} has zero variance at layers[{layer}], where {net.normalization.kind} is "
            f"undefined{_and_others(samples)}",
            samples,
        )
    wrong = {i: ball for i, ball in zip(left, balls, strict=True) if ball < 0}
    if wrong:
        first = min(wrong)
        raise RefutedError(
            f"sample {first} does not get its label (its margin is at most "
            f"{float_up(wrong[first])}){_and_others(sorted(wrong))}",
            sorted(wrong),
        )


def _undecided(enclosure: Enclosure, left: Sequence[int], undecided: Sequence[int]) -> UndecidedError:
    lost = {left[i]: layer for i, layer in enclosure.lost.items()}
    first = undecided[0]
    reason = (
        f"its variance at layers[{lost[first]}] cannot be told from zero"
        if first in lost
        else "its margin cannot be told from zero: an exact tie, or too close to one"
    )
    return UndecidedError(
        f"sample {first} is undecided at the limit of {enclosure.precision} bits: {reason}"
        f"{_and_others(undecided)}; raise max_precision or change the net",
        undecided,
        enclosure.precision,
    )


def _and_others(samples: Sequence[int]) -> str:
    more = len(samples) - 1
    return f" (and {more} other sample{'s' if more > 1 else ''})" if more else ""


def _plain_wrong(
    net: LNNet, X: FloatArray, right: NDArray[np.intp], dtype: type[np.float32] | type[np.float64]
) -> int:
    scores = net.plain_scores(X, dtype)
    finite = np.isfinite(scores).reshape(len(scores), -1).all(axis=1)
    return int(np.count_nonzero(~finite | (net.winners(scores) != right)))


# -------------------------------------------------------------------------------------------- comparison

_INTERVALS = ("ssr_before", "lssr_before", "ssr_after", "lssr_after")


def _require(holds: bool, claimed: Certificate, name: str, proved: Any) -> None:
    if not holds:
        raise RefutedError(f"the certificate claims {name} = {getattr(claimed, name)}, proved here: {proved}")


def _compare(claimed: Certificate, proved: Certificate) -> None:
    """Raise `RefutedError` if a claim goes beyond what is proved."""
    same = ["n_samples", "n_classes", "depth", "width", "arithmetic"]
    if claimed.library_version == proved.library_version:
        same += ["precision", "method"]
    for name in same:
        value = getattr(proved, name)
        _require(getattr(claimed, name) == value, claimed, name, value)
    if len(claimed.margins) != proved.n_samples:
        raise RefutedError(
            f"the certificate has {len(claimed.margins)} margins for {proved.n_samples} samples"
        )
    beyond = [i for i, (c, p) in enumerate(zip(claimed.margins, proved.margins, strict=True)) if not c <= p]
    if beyond:
        i = beyond[0]
        raise RefutedError(
            f"the certificate claims a margin of {claimed.margins[i]} for sample {i}, proved here: "
            f"{proved.margins[i]}{_and_others(beyond)}",
            beyond,
        )
    _require(claimed.margin <= proved.margin, claimed, "margin", proved.margin)
    for name in _INTERVALS:
        inner, outer = getattr(proved, name), getattr(claimed, name)
        contains = outer is None or (inner is not None and outer[0] <= inner[0] and inner[1] <= outer[1])
        _require(contains, claimed, name, inner)
    for name in ("float64_wrong", "float32_wrong"):
        count, here = getattr(claimed, name), getattr(proved, name)
        _require(count is None or (here is not None and (here == 0 or count > 0)), claimed, name, here)
