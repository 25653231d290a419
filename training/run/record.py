"""Records: everything that a table is made of, in one small JSON file for a whole experiment. No torch here.

::

    {"format": "lntheory-training-record", "version": 2,
     "experiment": …, "preset": …, "command": …, "started": …, "versions": {…}, "device": {…},
     "source_sha256": …, "data": {…, "sha256"}, "labels": {…, "sha256"} | null,
     "ceiling": {…} | null, "certified": {…} | null,
     "config": {what all runs share, by dotted names},
     "runs": [{"config": {this run's own}, "epochs": {metric: […], …}, "final": {…}, …},  one line a run
              …]}

A grid of hundreds of runs is one file. Metrics go by name; an accuracy is kept as numbers of correct samples,
of so many, which are exact and short, other metrics with five significant digits. The learning rate of an
epoch follows from the config.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from lntheory.base import jsonfile
from lntheory.base.fields import TUPLE, Count, Items, Name, PositiveCount, Real, Sha256, UnitReal, Value
from lntheory.errors import FileFormatError, InvalidInputError, excerpt

from ..data.labels import RandomLabels
from .config import RunConfig, flat, nested
from .result import RunResult

__all__ = ["Ceiling", "CertifiedNet", "Counts", "DataSource", "Device", "LabelSource", "Record", "Run",
           "read_record", "read_records", "record_name", "write_record"]  # fmt: skip

FORMAT, VERSION = "lntheory-training-record", 2

Word = Annotated[str, StringConstraints(pattern="^[A-Za-z0-9_-]+$")]
"""A text that may become part of a file's name."""
Amount = Annotated[Real, Field(ge=0)]
SampleCount = Annotated[PositiveCount, Field(le=10_000_000)]
"""Of a record that is read: its labels are drawn again to check their hash."""


def _time(value: str) -> str:
    try:
        aware = datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        aware = False
    if not aware:
        raise ValueError("give a date and time with offset (ISO 8601)")
    return value


class Counts(Value):
    """A metric that is a part of so many, after every epoch: exact, and short."""

    of: PositiveCount
    counts: Items[Count]

    @model_validator(mode="after")
    def _check(self) -> Self:
        for epoch, count in enumerate(self.counts):
            if count > self.of:
                raise InvalidInputError(f"counts[{epoch}] is {count}, of {self.of}")
        return self


class Run(Value):
    """One run of a grid, with its metrics of every epoch.

    Attributes
    ----------
    config : RunConfig
    diverged : bool
        A loss became infinite or NaN in the epoch after the last one listed.
    seconds : float
        Wall time; of runs that were trained together, this one's share.
    epochs : mapping of str to tuple of float, or Counts
        After every epoch: ``train_loss``, ``train_accuracy``, ``test_loss``, ``test_perplexity``, …
    final : mapping of str to float
        What was measured once: ``samples_per_second``, ``peak_memory`` (bytes), ``bleu``, …
    """

    config: RunConfig
    diverged: bool
    seconds: Amount
    epochs: dict[Word, Counts | Items[Real]]
    final: dict[Word, Real] = Field(default_factory=dict)

    @classmethod
    def of(cls, result: RunResult, sizes: Mapping[str, int]) -> Run:
        """The run that a trainer's result tells of.

        Parameters
        ----------
        result : RunResult
        sizes : mapping of str to int
            Samples of each split: ``{"train": 1438, "test": 359}``.

        Raises
        ------
        InvalidInputError
            If the run is not finished, or an accuracy is no multiple of 1 / n within [0, 1].
        """
        if not result.finished:
            raise InvalidInputError(
                f"{result.config.label}: {len(result.epochs)} epochs are done of a run that has more; a "
                "record holds finished runs only"
            )
        epochs: dict[str, Any] = {}
        for name in result.epochs[0].metrics if result.epochs else ():
            values = [row.metrics[name] for row in result.epochs]
            split, _, metric = name.partition("_")
            if metric == "accuracy":
                epochs[name] = {"of": sizes[split], "counts": _counted(values, sizes[split], name)}
            else:
                epochs[name] = [_rounded(value, 5) for value in values]
        final = {name: _rounded(value, 5) for name, value in result.final.items()}
        return cls(config=result.config, diverged=result.diverged, seconds=_rounded(result.seconds, 4),
                   epochs=epochs, final=final)  # fmt: skip

    @property
    def n_epochs(self) -> int:
        """Epochs that were finished."""
        return max((len(self.series(name)) for name in self.epochs), default=0)

    def series(self, metric: str) -> tuple[float, ...]:
        """A metric after every epoch; an accuracy as a fraction."""
        values = self.epochs[metric]
        return tuple(n / values.of for n in values.counts) if isinstance(values, Counts) else values

    def value(self, metric: str) -> float | None:
        """A metric at the end; None if the run diverged or does not have it."""
        if self.diverged:
            return None
        if metric in self.final:
            return self.final[metric]
        return self.series(metric)[-1] if metric in self.epochs else None


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def _counted(values: Sequence[float], n: int, name: str) -> list[int]:
    counts = []
    for epoch, value in enumerate(values, 1):
        if not 0 <= value <= 1 or abs(value * n - round(value * n)) > 1e-6:
            raise InvalidInputError(f"{name} {value!r} in epoch {epoch} is no number of {n} samples")
        counts.append(round(value * n))
    return counts


class DataSource(Value):
    """The data of an experiment: what they are, how many, and their hash (`ImageData.sha256`)."""

    name: Word
    origin: Name
    embedded: bool
    sha256: Sha256
    n_samples: SampleCount
    n_features: PositiveCount
    n_classes: PositiveCount
    n_test_samples: Count = 0


class LabelSource(Value):
    """The training labels: the seed they were drawn with (None: the true ones) and their hash."""

    seed: Count | None
    sha256: Sha256


class Device(Value):
    """Where the runs were trained."""

    kind: Word
    name: Name
    threads: PositiveCount
    processes: PositiveCount = 1


class Ceiling(Value):
    """What is proved of every linear classifier on these samples and labels (`training.experiments.ceiling`).

    Attributes
    ----------
    lssr : pair of float, or None
        An enclosure of the exact LSSR, rounded outwards; None where it was not computed.
    n_conflicts : int
        Disjoint sets of samples, each of which no linear classifier gets wholly right: proved exactly.
    n_features : int
        Features that are not constant.
    risk : float
        See `probably_at_most`.
    probably_at_most : int or None
        Over labels drawn uniformly, the probability that any linear classifier has more samples right
        than this is at most `risk`. None where counting proves nothing.
    seconds : float
    """

    lssr: Annotated[tuple[UnitReal, UnitReal], TUPLE] | None
    n_conflicts: Count
    n_features: Count
    risk: UnitReal
    probably_at_most: Count | None
    seconds: Amount


class CertifiedNet(Value):
    """The width-3 LN-Net that `lntheory.shatter` built for the same labels and `exact.certify` proved right.

    Attributes
    ----------
    n_samples : int
        Of the first so many training samples,
    n_contradictory : int
        this many equal another sample of another label, so no function has them right; all others are proved
        right.
    method, depth, width, n_parameters, arithmetic, precision
        Of the net and its certificate.
    build_seconds, certify_seconds : float
    net_sha256 : str
    """

    n_samples: PositiveCount
    n_contradictory: Count
    method: Name
    depth: Count
    width: Count
    n_parameters: Count
    arithmetic: Word
    precision: Count
    build_seconds: Amount
    certify_seconds: Amount
    net_sha256: Sha256

    @property
    def n_right(self) -> int:
        """Samples that it is proved right on."""
        return self.n_samples - self.n_contradictory

    @property
    def accuracy(self) -> float:
        """Proved accuracy on these samples."""
        return self.n_right / self.n_samples


class Record(Value):
    """An experiment as it was run.

    Attributes
    ----------
    experiment, preset : str
    command : str
        What was typed.
    started : str
        Date and time with offset, ISO 8601.
    seconds : float
        Wall time of all training, interruptions left out.
    versions : mapping of str to str
        Of Python and the packages that decide the numbers.
    device, data, labels
    source_sha256 : str or None
        Of the program that trained (`training.run.source.source_sha256`); None in records from before it was
        kept.
    ceiling : Ceiling or None
    certified : CertifiedNet or None
    runs : tuple of Run

    Raises
    ------
    InvalidInputError
        If the parts contradict each other; names the field. Among others: more samples right than there are,
        or, of a linear classifier, than `ceiling` proves possible; proofs of more samples than there are;
        labels of another hash than those of their seed. (The hash of true labels, of seed None, cannot be
        checked without the data.)
    """

    experiment: Word
    preset: Word
    command: Name
    started: Annotated[str, AfterValidator(_time)]
    seconds: Amount
    versions: dict[str, Name]
    device: Device
    source_sha256: Sha256 | None
    data: DataSource
    labels: LabelSource | None
    ceiling: Ceiling | None = None
    certified: CertifiedNet | None = None
    runs: Annotated[Items[Run], Field(min_length=1)]

    @model_validator(mode="after")
    def _check(self) -> Self:
        """That no part contradicts another."""
        n = self.data.n_samples
        complaints = [*_of_proofs(self), *_of_labels(self)]
        places: dict[str, int] = {}
        for place, run in enumerate(self.runs):
            complaints += (f"runs[{place}].{complaint}" for complaint in _of_run(run, self, n))
            first = places.setdefault(run.config.sha256, place)
            if first != place:
                complaints.append(f"runs[{place}].config: equal to that of runs[{first}]")
        if complaints:
            raise InvalidInputError(
                f"{complaints[0]}; the record contradicts itself: restore the file, or run its command again"
            )
        return self

    @property
    def name(self) -> str:
        """What its files are called.

        Such as ``random-labels-digits-quick``; with the number of samples where it is not the whole set.
        """
        data = self.runs[0].config.data
        n_samples = None if data is None else data.n_samples
        return record_name(self.experiment, self.data.name, n_samples, self.preset)


def record_name(experiment: str, data: str, n_samples: int | None, preset: str) -> str:
    """What the files of a record are called (`Record.name`), known before anything has been run.

    Examples
    --------
    >>> record_name("random-labels", "digits", None, "quick")
    'random-labels-digits-quick'
    >>> record_name("random-labels", "digits", 40, "quick")
    'random-labels-digits-40-quick'
    """
    return "-".join((experiment, data, *([] if n_samples is None else [str(n_samples)]), preset))


# -------------------------------------------------------------------------------------- contradictions


def _of_proofs(record: Record) -> list[str]:
    n, features, ceiling, net = (
        record.data.n_samples,
        record.data.n_features,
        record.ceiling,
        record.certified,
    )
    bounds = []  # what there is at most
    if ceiling is not None:
        bounds += [
            ("ceiling.n_conflicts", ceiling.n_conflicts, n // 2, f"disjoint sets within {n} samples"),
            ("ceiling.n_features", ceiling.n_features, features, "features"),
            ("ceiling.probably_at_most", ceiling.probably_at_most or 0, n, "samples"),
        ]
        if ceiling.lssr is not None and ceiling.lssr[0] > ceiling.lssr[1]:
            return [f"ceiling.lssr: {list(ceiling.lssr)}, its bounds are the wrong way round"]
    if net is not None:
        bounds += [
            ("certified.n_samples", net.n_samples, n, "samples"),
            ("certified.n_contradictory", net.n_contradictory, net.n_samples - 1, "samples, but one"),
        ]
        if net.depth == 0 and ceiling is not None:
            most = n - ceiling.n_conflicts
            why = f"samples by a linear classifier (ceiling.n_conflicts = {ceiling.n_conflicts})"
            bounds.append(("certified (depth 0)", net.n_right, most, why))
    return [f"{name}: {value}, but there are at most {most} {of}" for name, value, most, of in bounds
            if value > most]  # fmt: skip


def _of_labels(record: Record) -> list[str]:
    """The hash of the labels is that of the labels drawn again."""
    labels, data = record.labels, record.data
    if labels is None or labels.seed is None:
        return []
    drawn = RandomLabels(labels.seed, data.n_classes).sha256(data.n_samples)
    if labels.sha256 == drawn:
        return []
    return [
        f"labels.sha256: {labels.sha256}, but the {data.n_samples} labels of seed {labels.seed} in "
        f"{data.n_classes} classes have {drawn}"
    ]


def _of_run(run: Run, record: Record, n: int) -> list[str]:
    config, sizes = run.config, {"train": n, "test": record.data.n_test_samples}
    complaints = []
    if config.data is not None:
        seed = None if record.labels is None else record.labels.seed
        for name, theirs, where, ours in (
            ("name", config.data.name, "data.name", record.data.name),
            ("label_seed", config.data.label_seed, "labels.seed", seed),
            ("n_samples", config.data.n_samples or n, "data.n_samples", n),
        ):
            if theirs != ours:
                complaints.append(f"config.data.{name}: {excerpt(theirs)}, but {where} is {excerpt(ours)}")
    lengths = {len(run.series(name)) for name in run.epochs}
    wanted = config.epochs or run.n_epochs
    if (
        len(lengths) > 1
        or run.n_epochs > wanted - run.diverged
        or (run.n_epochs < wanted and not run.diverged)
    ):
        state = "diverged" if run.diverged else "finished"
        complaints.append(f"epochs: {sorted(lengths)} of a run of {wanted} that {state}")
    for name, values in run.epochs.items():
        if isinstance(values, Counts) and values.of != sizes.get(name.partition("_")[0]):
            complaints.append(f"epochs.{name}.of: {values.of}, but the record's samples are {sizes}")
    counted, ceiling = run.epochs.get("train_accuracy"), record.ceiling
    if ceiling is not None and isinstance(counted, Counts) and _is_linear(config):
        for epoch, count in enumerate(counted.counts):
            if count > n - ceiling.n_conflicts:
                complaints.append(
                    f"epochs.train_accuracy.counts[{epoch}]: {count} samples right by a linear classifier, "
                    f"but by ceiling.n_conflicts = {ceiling.n_conflicts} none has more than "
                    f"{n - ceiling.n_conflicts} of {n}"
                )
    return complaints


def _is_linear(config: RunConfig) -> bool:
    """Whether the net is an affine map, its scores not rounded to bfloat16's 8 bits."""
    norm = getattr(config.model, "norm", None)
    return norm in ("linear", "none") and config.precision != "bf16-mixed"


# ------------------------------------------------------------------------------------------------ files


def write_record(record: Record, path: str | os.PathLike[str]) -> None:
    """Write a record to a ``.json`` file; it appears whole or not at all. Its folder is made if need be."""
    if Path(path).suffix != ".json":
        raise InvalidInputError(f"{path}: a record is saved to a file named *.json")
    head = {"format": FORMAT, "version": VERSION, **record.to_dict()}
    runs = head.pop("runs")
    for run in runs:
        if run["config"]["data"] is not None:
            run["config"]["data"]["root"] = None  # a place, not a result
        run["config"] = flat(run["config"])
    first = runs[0]["config"]
    shared = {name: v for name, v in first.items() if all(run["config"].get(name, ...) == v for run in runs)}
    for run in runs:
        run["config"] = {name: value for name, value in run["config"].items() if name not in shared}
    lines = [f"{_json(key)}: {_json(value)}" for key, value in {**head, "config": shared}.items()]
    text = (
        "{" + ",\n".join(lines) + ',\n"runs": [\n' + ",\n".join(_json(r, (",", ":")) for r in runs) + "\n]}\n"
    )
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    jsonfile.write(path, text)


def _json(value: Any, separators: tuple[str, str] = (", ", ": ")) -> str:
    return json.dumps(value, allow_nan=False, separators=separators)


def read_record(path: str | os.PathLike[str]) -> Record:
    """Read one record.

    Raises
    ------
    FileFormatError
        If the file is no record, cut off, of another version, or a field is missing, unknown, of the wrong
        type or contradicts another (see `Record`); names file and field.
    OSError
        If it cannot be opened.
    """
    value = jsonfile.read(path)
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise FileFormatError(f'{path}: format: expected "{FORMAT}"; this is no training record')
    if type(value.get("version")) is not int or value["version"] != VERSION:
        raise FileFormatError(
            f"{path}: version: {excerpt(value.get('version'))}, this library reads version {VERSION}"
        )
    fields = {name: part for name, part in value.items() if name not in ("format", "version", "config")}
    shared = value.get("config")
    if not isinstance(shared, dict):
        raise FileFormatError(f"{path}: field config is {excerpt(shared)}; it should be an object")
    runs = fields.get("runs")
    if isinstance(runs, list):
        fields["runs"] = [_whole(run, shared) for run in runs]
    return Record.from_dict(fields, str(path))


def _whole(run: Any, shared: dict[str, Any]) -> Any:
    """A run with all of its config, nested again."""
    if not isinstance(run, dict) or not isinstance(run.get("config"), dict):
        return run
    return {**run, "config": nested({**shared, **run["config"]})}


def read_records(paths: Sequence[str | os.PathLike[str]]) -> list[Record]:
    """Read records from files, and from folders all that end in ``.json``; sorted by name.

    Raises
    ------
    FileFormatError
        As `read_record`.
    InvalidInputError
        If there are none, or two would have the same name in a table.
    """
    files: list[Path] = []
    for path in map(Path, paths):
        files += sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not files:
        raise InvalidInputError(
            f"no records (*.json) in {', '.join(map(str, paths))}; run an experiment first"
        )
    records: dict[str, tuple[Path, Record]] = {}
    for file in dict.fromkeys(files):
        record = read_record(file)
        if record.name in records:
            raise InvalidInputError(
                f"{records[record.name][0]} and {file} are both records of {record.name}; leave one out"
            )
        records[record.name] = (file, record)
    return [record for _, (_, record) in sorted(records.items())]
