"""Records: everything that a table is made of, in one small JSON file for a whole experiment. No torch here.

::

    {"format": "lntheory-training-record", "version": 1,
     "experiment": …, "preset": …, "command": …, "started": …, "versions": {…}, "device": {…},
     "data": {…, "sha256"}, "labels": {…, "sha256"},
     "ceiling": {…} | null, "certified": {…} | null,
     "config": {what all runs share},
     "runs": [{"config": {what is this run's own}, "loss": […], "correct": […], …},    one line a run
              …]}

A grid of hundreds of runs is one file. Accuracies are kept as numbers of correct samples, which are exact and
short; the loss has five significant digits. The learning rate of an epoch follows from the config.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from lntheory.base import jsonfile
from lntheory.errors import FileFormatError, InvalidInputError, excerpt
from training.config import RunConfig
from training.labels import RandomLabels
from training.result import RunResult

__all__ = [
    "Ceiling",
    "CertifiedNet",
    "DataSource",
    "Device",
    "LabelSource",
    "Record",
    "Run",
    "read_record",
    "read_records",
    "record_name",
    "write_record",
]

FORMAT = "lntheory-training-record"
VERSION = 1

_MOST_SAMPLES = 10_000_000
"""Of a record that is read: its labels are drawn again to check their hash."""

_LINEAR = ("linear", "none")
"""Norms of the nets that are linear classifiers whatever their depth."""


@dataclass(frozen=True)
class Run:
    """One run of a grid, with its metrics of every epoch.

    Attributes
    ----------
    config : RunConfig
    loss : tuple of float
        Mean cross-entropy over the training samples after each epoch.
    correct : tuple of int
        Training samples classified right after each epoch.
    diverged : bool
        The loss became infinite or NaN in the epoch after the last one listed.
    seconds : float
        Wall time; of runs that were trained together, this one's share.
    """

    config: RunConfig
    loss: tuple[float, ...]
    correct: tuple[int, ...]
    diverged: bool
    seconds: float

    @classmethod
    def of(cls, result: RunResult, n_samples: int) -> Run:
        """The run that a trainer's result tells of.

        Raises
        ------
        InvalidInputError
            If the run is not finished, or its metrics are not those of `n_samples` samples: an accuracy
            outside [0, 1] or no multiple of ``1 / n_samples``, or another learning rate.
        """
        config = result.config
        if not result.finished:
            raise InvalidInputError(
                f"{config.label}: {len(result.epochs)} of {config.epochs} epochs are done; a record holds "
                "finished runs only"
            )
        correct = []
        for metrics in result.epochs:
            if not 0 <= metrics.accuracy <= 1:
                raise InvalidInputError(
                    f"{config.label}: accuracy {metrics.accuracy!r} in epoch {metrics.epoch}; give the part "
                    f"of the {n_samples} samples that is right, within [0, 1]"
                )
            count = round(metrics.accuracy * n_samples)
            if abs(metrics.accuracy * n_samples - count) > 1e-6:
                raise InvalidInputError(
                    f"{config.label}: accuracy {metrics.accuracy!r} in epoch {metrics.epoch} is no number of "
                    f"{n_samples} samples"
                )
            if metrics.lr != config.learning_rate(metrics.epoch - 1):
                raise InvalidInputError(
                    f"{config.label}: learning rate {metrics.lr!r} in epoch {metrics.epoch}, but the config "
                    f"says {config.learning_rate(metrics.epoch - 1)!r}"
                )
            correct.append(count)
        loss = tuple(_rounded(metrics.loss, 5) for metrics in result.epochs)
        return cls(config, loss, tuple(correct), result.diverged, _rounded(result.seconds, 4))


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


@dataclass(frozen=True)
class DataSource:
    """The images of an experiment: what they are, how many, and their hash (`ImageData.sha256`)."""

    name: str
    origin: str
    embedded: bool
    sha256: str
    n_samples: int
    n_features: int
    n_classes: int


@dataclass(frozen=True)
class LabelSource:
    """The training labels: the seed they were drawn with (None: the true ones) and their hash."""

    seed: int | None
    sha256: str


@dataclass(frozen=True)
class Device:
    """Where the runs were trained."""

    kind: str
    name: str
    threads: int


@dataclass(frozen=True)
class Ceiling:
    """What is proved of every linear classifier on these samples and labels (`training.ceiling`).

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

    lssr: tuple[float, float] | None
    n_conflicts: int
    n_features: int
    risk: float
    probably_at_most: int | None
    seconds: float


@dataclass(frozen=True)
class CertifiedNet:
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

    n_samples: int
    n_contradictory: int
    method: str
    depth: int
    width: int
    n_parameters: int
    arithmetic: str
    precision: int
    build_seconds: float
    certify_seconds: float
    net_sha256: str

    @property
    def accuracy(self) -> float:
        """Proved accuracy on these samples."""
        return (self.n_samples - self.n_contradictory) / self.n_samples


@dataclass(frozen=True)
class Record:
    """An experiment as it was run.

    Attributes
    ----------
    experiment : str
        Such as "random-labels".
    preset : str
    command : str
        What was typed.
    started : str
        Date and time with offset, ISO 8601.
    seconds : float
        Wall time of all training, interruptions left out.
    versions : mapping of str to str
        Of Python and the packages that decide the numbers.
    device, data, labels
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

    experiment: str
    preset: str
    command: str
    started: str
    seconds: float
    versions: Mapping[str, str]
    device: Device
    data: DataSource
    labels: LabelSource
    ceiling: Ceiling | None
    certified: CertifiedNet | None
    runs: tuple[Run, ...]

    def __post_init__(self) -> None:
        if not self.runs:
            raise InvalidInputError("runs: there are none")
        if complaint := _complaint_of_proofs(self):
            raise InvalidInputError(complaint)
        for place, run in enumerate(self.runs):
            complaint = _complaint(run, self)
            if complaint:
                raise InvalidInputError(f"runs[{place}]{complaint}")
        twice = [name for name, count in Counter(run.config.sha256 for run in self.runs).items() if count > 1]
        if twice:
            first, second = [k for k, run in enumerate(self.runs) if run.config.sha256 == twice[0]][:2]
            raise InvalidInputError(f"runs[{second}].config: equal to that of runs[{first}]")
        if complaint := _complaint_of_labels(self):
            raise InvalidInputError(complaint)

    @property
    def name(self) -> str:
        """What its files are called.

        Such as ``random-labels-digits-quick``; with the number of samples where it is not the whole set.
        """
        return record_name(self.experiment, self.data.name, self.runs[0].config.n_samples, self.preset)

    def accuracy(self, run: Run) -> float | None:
        """Final training accuracy of one of the runs; None if it diverged."""
        return None if run.diverged else run.correct[-1] / self.data.n_samples


def record_name(experiment: str, data: str, n_samples: int | None, preset: str) -> str:
    """What the files of a record are called (`Record.name`), known before anything has been run.

    Parameters
    ----------
    experiment, data, preset : str
    n_samples : int or None
        As in `RunConfig`: None is the whole set.

    Examples
    --------
    >>> record_name("random-labels", "digits", None, "quick")
    'random-labels-digits-quick'
    >>> record_name("random-labels", "digits", 40, "quick")
    'random-labels-digits-40-quick'
    """
    return "-".join((experiment, data, *([] if n_samples is None else [str(n_samples)]), preset))


def _complaint_of_proofs(record: Record) -> str | None:
    """In what the proofs contradict the data that they are of, or each other."""
    data, ceiling, net = record.data, record.ceiling, record.certified
    if ceiling is not None:
        most = data.n_samples // 2
        if not 0 <= ceiling.n_conflicts <= most:
            return (
                f"ceiling.n_conflicts: {ceiling.n_conflicts} disjoint sets of two samples or more, but "
                f"{data.n_samples} samples have at most {most}"
            )
        if not 0 <= ceiling.n_features <= data.n_features:
            return f"ceiling.n_features: {ceiling.n_features}, but data.n_features is {data.n_features}"
        if not 0 <= ceiling.risk <= 1:
            return f"ceiling.risk: {ceiling.risk:g} is no probability"
        if ceiling.probably_at_most is not None and not 0 <= ceiling.probably_at_most <= data.n_samples:
            return f"ceiling.probably_at_most: {ceiling.probably_at_most} samples of {data.n_samples}"
    if net is not None and not 1 <= net.n_samples <= data.n_samples:
        return f"certified.n_samples: {net.n_samples}, but data.n_samples is {data.n_samples}"
    if net is not None and ceiling is not None and net.depth == 0:
        right, most = net.n_samples - net.n_contradictory, data.n_samples - ceiling.n_conflicts
        if right > most:
            return (
                f"certified: a linear classifier (depth 0) with {right} samples right, but by "
                f"ceiling.n_conflicts = {ceiling.n_conflicts} none has more than {most} of {data.n_samples}"
            )
    return None


def _complaint_of_labels(record: Record) -> str | None:
    """In what the hash of the labels is not that of the labels drawn again."""
    labels, data = record.labels, record.data
    if labels.seed is None:
        return None
    drawn = RandomLabels(labels.seed, data.n_classes).sha256(data.n_samples)
    if labels.sha256 == drawn:
        return None
    return (
        f"labels.sha256: {excerpt(labels.sha256, 80)}, but the {data.n_samples} labels of seed {labels.seed} "
        f"in {data.n_classes} classes have '{drawn}'"
    )


def _most_right(config: RunConfig, record: Record) -> int:
    """Samples that this run can have right at most, by what the record proves.

    Scores rounded to bfloat16's 8 bits are no affine functions any more, so the ceiling does not hold for
    them.
    """
    n_samples, ceiling = record.data.n_samples, record.ceiling
    if ceiling is None or config.norm not in _LINEAR or config.precision == "bf16-mixed":
        return n_samples
    return n_samples - ceiling.n_conflicts


def _complaint(run: Run, record: Record) -> str | None:
    """In what a run contradicts the rest of its record, or itself."""
    config, data = run.config, record.data
    if config.data != data.name:
        return f".config.data: {config.data!r}, but the record is of {data.name!r}"
    if config.label_seed != record.labels.seed:
        return (
            f".config.label_seed: {config.label_seed}, but the record's labels have seed {record.labels.seed}"
        )
    if config.n_samples not in (None, data.n_samples):
        return f".config.n_samples: {config.n_samples}, but the record has {data.n_samples} samples"
    if len(run.loss) != len(run.correct):
        return f".correct: {len(run.correct)} epochs, but loss has {len(run.loss)}"
    n_epochs = len(run.loss)
    if n_epochs >= config.epochs + (not run.diverged) or (n_epochs < config.epochs and not run.diverged):
        state = "diverged" if run.diverged else "finished"
        return f".loss: {n_epochs} epochs of a run of {config.epochs} that {state}"
    most = _most_right(config, record)
    for epoch, count in enumerate(run.correct):
        if not 0 <= count <= data.n_samples:
            return f".correct[{epoch}]: {count} samples of {data.n_samples}"
        if count > most:
            return (
                f".correct[{epoch}]: {count} samples right by a linear classifier (norm {config.norm!r}), "
                f"but by ceiling.n_conflicts = {data.n_samples - most} none has more than {most} of "
                f"{data.n_samples}"
            )
    return None


# ------------------------------------------------------------------------------------------------ writing


def write_record(record: Record, path: str | os.PathLike[str]) -> None:
    """Write a record to a ``.json`` file; it appears whole or not at all.

    Parameters
    ----------
    record : Record
    path : str or path
        Its folder is made if it is not there.
    """
    if Path(path).suffix != ".json":
        raise InvalidInputError(f"{path}: a record is saved to a file named *.json")
    configs = [{**run.config.to_dict(), "data_root": None} for run in record.runs]  # a place, not a result
    shared = {name: v for name, v in configs[0].items() if all(config[name] == v for config in configs)}
    head = {"format": FORMAT, "version": VERSION, **asdict(record), "config": shared}
    del head["runs"]
    lines = [f"{_json(key)}: {_json(value)}" for key, value in head.items()]
    runs = [
        _json({
            "config": {name: value for name, value in config.items() if name not in shared},
            "diverged": run.diverged, "seconds": run.seconds, "loss": run.loss, "correct": run.correct,
        }, separators=(",", ":"))
        for run, config in zip(record.runs, configs, strict=True)
    ]  # fmt: skip
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    jsonfile.write(path, "{" + ",\n".join(lines) + ',\n"runs": [\n' + ",\n".join(runs) + "\n]}\n")


def _json(value: Any, separators: tuple[str, str] = (", ", ": ")) -> str:
    return json.dumps(value, allow_nan=False, separators=separators)


# ------------------------------------------------------------------------------------------------ reading


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
    try:
        return _record(value)
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from None
    except InvalidInputError as error:  # each field for itself could be, all together cannot
        raise FileFormatError(
            f"{path}: {error}; the record contradicts itself: restore the file, or run its command again"
        ) from None


def _record(value: Any) -> Record:
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise FileFormatError(f'format: expected "{FORMAT}"; this is no training record')
    if type(value.get("version")) is not int or value["version"] != VERSION:
        raise FileFormatError(
            f"version: {excerpt(value.get('version'))}, this library reads version {VERSION}"
        )
    fields = _Fields({name: v for name, v in value.items() if name not in ("format", "version")}, "")
    shared = fields.mapping("config")
    record = Record(
        experiment=fields.word("experiment"),
        preset=fields.word("preset"),
        command=fields.text("command"),
        started=fields.time("started"),
        seconds=fields.number("seconds"),
        versions=_versions(fields.part("versions")),
        device=_device(fields.part("device")),
        data=_data(fields.part("data")),
        labels=_labels(fields.part("labels")),
        ceiling=None if fields.absent("ceiling") else _ceiling(fields.part("ceiling")),
        certified=None if fields.absent("certified") else _certified(fields.part("certified")),
        runs=tuple(_run(part, shared) for part in fields.parts("runs")),
    )
    fields.finish()
    return record


def _versions(fields: _Fields) -> dict[str, str]:
    return {name: fields.text(name) for name in fields.names}


def _device(fields: _Fields) -> Device:
    device = Device(fields.word("kind"), fields.text("name"), fields.count("threads", least=1))
    fields.finish()
    return device


def _data(fields: _Fields) -> DataSource:
    source = DataSource(
        fields.word("name"),
        fields.text("origin"),
        fields.flag("embedded"),
        fields.sha256("sha256"),
        fields.count("n_samples", least=1, most=_MOST_SAMPLES),
        fields.count("n_features", least=1),
        fields.count("n_classes", least=1),
    )
    fields.finish()
    return source


def _labels(fields: _Fields) -> LabelSource:
    seed = None if fields.absent("seed") else fields.count("seed")
    source = LabelSource(seed, fields.sha256("sha256"))
    fields.finish()
    return source


def _ceiling(fields: _Fields) -> Ceiling:
    lssr = None
    if not fields.absent("lssr"):
        bounds = fields.numbers("lssr")
        if len(bounds) != 2 or not 0 <= bounds[0] <= bounds[1] <= 1:
            raise fields.error("lssr", list(bounds), "two bounds within [0, 1]")
        lssr = (bounds[0], bounds[1])
    probable = None if fields.absent("probably_at_most") else fields.count("probably_at_most")
    ceiling = Ceiling(
        lssr,
        fields.count("n_conflicts"),
        fields.count("n_features"),
        fields.number("risk"),
        probable,
        fields.number("seconds"),
    )
    fields.finish()
    return ceiling


def _certified(fields: _Fields) -> CertifiedNet:
    net = CertifiedNet(
        fields.count("n_samples", least=1),
        fields.count("n_contradictory"),
        fields.text("method"),
        fields.count("depth"),
        fields.count("width"),
        fields.count("n_parameters"),
        fields.word("arithmetic"),
        fields.count("precision"),
        fields.number("build_seconds"),
        fields.number("certify_seconds"),
        fields.sha256("net_sha256"),
    )
    if net.n_contradictory >= net.n_samples:
        raise fields.error("n_contradictory", net.n_contradictory, f"fewer than the {net.n_samples} samples")
    fields.finish()
    return net


def _run(fields: _Fields, shared: Mapping[str, Any]) -> Run:
    own = fields.mapping("config")
    try:
        config = RunConfig.from_dict({**shared, **own})
    except InvalidInputError as error:
        raise FileFormatError(f"{fields.where}config: {error}") from None
    run = Run(
        config,
        fields.numbers("loss"),
        fields.counts("correct"),
        fields.flag("diverged"),
        fields.number("seconds"),
    )
    fields.finish()
    return run


class _Fields:
    """The fields of one JSON object, taken by type; what is wrong is named with its full path."""

    def __init__(self, values: Any, where: str) -> None:
        self.where = f"{where}." if where else ""
        if not isinstance(values, dict):
            raise FileFormatError(f"{where}: expected an object, found {excerpt(values)}")
        self.values = values
        self.taken: set[str] = set()

    @property
    def names(self) -> list[str]:
        return list(self.values)

    def error(self, name: str, found: object, expected: str) -> FileFormatError:
        return FileFormatError(f"{self.where}{name}: expected {expected}, found {excerpt(found)}")

    def take(self, name: str) -> Any:
        if name not in self.values:
            raise FileFormatError(f"field {self.where}{name} is missing")
        self.taken.add(name)
        return self.values[name]

    def finish(self) -> None:
        """Refuse what nobody asked for."""
        for name in sorted(set(self.values) - self.taken):
            raise FileFormatError(f"unknown field {self.where}{name}; is the file of a newer version?")

    def absent(self, name: str) -> bool:
        return self.take(name) is None

    def text(self, name: str) -> str:
        value = self.take(name)
        if not isinstance(value, str) or not value:
            raise self.error(name, value, "a text")
        return value

    def word(self, name: str) -> str:
        """A text that may become part of a file's name."""
        value = self.text(name)
        if not all(c.isascii() and (c.isalnum() or c in "-_") for c in value):
            raise self.error(name, value, "letters, digits and hyphens")
        return value

    def time(self, name: str) -> str:
        value = self.text(name)
        try:
            aware = datetime.fromisoformat(value).tzinfo is not None
        except ValueError:
            aware = False
        if not aware:
            raise self.error(name, value, "a date and time with offset (ISO 8601)")
        return value

    def sha256(self, name: str) -> str:
        value = self.text(name)
        if len(value) != 64 or not set(value) <= set("0123456789abcdef"):
            raise self.error(name, value, "64 hexadecimal digits")
        return value

    def flag(self, name: str) -> bool:
        value = self.take(name)
        if not isinstance(value, bool):
            raise self.error(name, value, "true or false")
        return value

    def count(self, name: str, least: int = 0, most: int | None = None) -> int:
        value = self.take(name)
        if not _is_count(value, least) or (most is not None and value > most):
            raise self.error(
                name, value, f"a whole number from {least} " + ("on" if most is None else f"to {most}")
            )
        return int(value)

    def counts(self, name: str) -> tuple[int, ...]:
        value = self._list(name)
        for k, entry in enumerate(value):
            if not _is_count(entry, 0):
                raise self.error(f"{name}[{k}]", entry, "a whole number from 0 on")
        return tuple(value)

    def number(self, name: str) -> float:
        value = self.take(name)
        if not _is_number(value):
            raise self.error(name, value, "a finite number, not below 0")
        return float(value)

    def numbers(self, name: str) -> tuple[float, ...]:
        value = self._list(name)
        for k, entry in enumerate(value):
            if not _is_number(entry):
                raise self.error(f"{name}[{k}]", entry, "a finite number, not below 0")
        return tuple(float(entry) for entry in value)

    def mapping(self, name: str) -> dict[str, Any]:
        value = self.take(name)
        if not isinstance(value, dict):
            raise self.error(name, value, "an object")
        return value

    def part(self, name: str) -> _Fields:
        return _Fields(self.take(name), f"{self.where}{name}")

    def parts(self, name: str) -> list[_Fields]:
        return [_Fields(entry, f"{self.where}{name}[{k}]") for k, entry in enumerate(self._list(name))]

    def _list(self, name: str) -> list[Any]:
        value = self.take(name)
        if not isinstance(value, list):
            raise self.error(name, value, "a list")
        return value


def _is_count(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < 2**63


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return abs(value) < 1e300 and math.isfinite(value) and value >= 0
