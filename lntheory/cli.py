"""The command ``lntheory``: build, certify, re-prove, measure and draw, from files.

Exit codes: 0 proved (or shown), 1 refuted, 2 bad input, 3 undecided, 130 interrupted. Results go to standard
output (one JSON object with ``--json``), progress and errors to standard error.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import lntheory
from lntheory.base.files import replaced_directory_files, replaced_file
from lntheory.data import BUNDLED, Dataset, load_dataset, random_labels, read_fractions, save_dataset
from lntheory.errors import (
    InvalidInputError,
    LNTheoryError,
    MissingDependencyError,
    RefutedError,
    UndecidedError,
)

if TYPE_CHECKING:
    from lntheory.exact import AlgebraicEnclosure, Certificate, ShatteringProof
    from lntheory.network import LNNet
    from lntheory.nn import LNSequential

__all__ = ["main"]

PROVED, REFUTED, BAD_INPUT, UNDECIDED, INTERRUPTED = 0, 1, 2, 3, 130

_STATUS = {REFUTED: "refuted", BAD_INPUT: "bad input", UNDECIDED: "undecided", INTERRUPTED: "interrupted"}

app = typer.Typer(
    name="lntheory",
    help="LN-Nets that fit any labels, exactly certified. Exit codes: 0 proved, 1 refuted, 2 bad input, "
    "3 undecided, 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # rich would exit with 1, which here means refuted


@dataclass(frozen=True)
class Report:
    """What a command found: for programs (`values`) and for people (`rows` of a table)."""

    values: dict[str, Any]
    rows: list[tuple[str, str]]
    as_json: bool
    tables: list[Table] = field(default_factory=list)
    exit_code: int = PROVED

    def show(self) -> None:
        if self.as_json:
            print(json.dumps(self.values, allow_nan=False))
            return
        console = _Console(soft_wrap=True, highlight=False, markup=False)
        width = max((len(name) for name, _ in self.rows), default=0)
        for name, text in self.rows:
            console.print(f"{name:<{width}}  {text}")
        for table in self.tables:
            console.print(table)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    Examples
    --------
    >>> main(["--version"])
    lntheory 0.1.0
    0
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        result = typer.main.get_command(app).main(arguments, prog_name="lntheory", standalone_mode=False)
        if result == INTERRUPTED:  # what newer versions of typer make of KeyboardInterrupt
            raise KeyboardInterrupt
        if not isinstance(result, Report):
            return int(result or 0)
        result.show()
        sys.stdout.flush()
        return result.exit_code
    except (
        BrokenPipeError
    ):  # whoever was reading has read enough; keep the interpreter from complaining at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PROVED
    except _USAGE_ERROR as error:
        error.show()
        return BAD_INPUT
    except (KeyboardInterrupt, typer.Abort):
        return _fail(INTERRUPTED, "interrupted; nothing was written", arguments)
    except RefutedError as error:
        return _fail(REFUTED, str(error), arguments, samples=list(error.samples))
    except UndecidedError as error:
        return _fail(UNDECIDED, str(error), arguments, samples=list(error.samples), precision=error.precision)
    except LNTheoryError as error:
        return _fail(BAD_INPUT, str(error), arguments)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _fail(BAD_INPUT, f"{where}{error.strerror or error}", arguments)


# The parent of every complaint about options and arguments, whichever parser this version of typer brings.
_USAGE_ERROR: Any = typer.BadParameter.__base__


def _fail(code: int, message: str, arguments: Sequence[str], **details: Any) -> int:
    Console(stderr=True, soft_wrap=True, highlight=False, markup=False).print(f"{_STATUS[code]}: {message}")
    if "--json" in arguments:
        print(json.dumps({"status": _STATUS[code], "exit_code": code, "message": message, **details}))
    return code


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on standard error; a single line where that is no terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        console.print(f"{what} ...", markup=False, highlight=False)
        yield lambda done, total: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


# ----------------------------------------------------------------------------------------- what is asked


class Labels(StrEnum):
    """Whose labels: those of the data, or random ones."""

    given = "given"
    random = "random"


DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help=f"A .csv with a header, an .npz with two arrays, or one of {', '.join(BUNDLED)}. The decimals "
        "of a .csv are read as the nearest doubles, which is what nets are built for.",
    ),
]
NetArgument = Annotated[Path, typer.Argument(metavar="NET", help="A net.json file.")]
LabelOption = Annotated[
    str | None,
    typer.Option("--label", metavar="NAME", help="Column (.csv) or array (.npz, default y) of the labels."),
]
LabelsOption = Annotated[
    Labels,
    typer.Option("--labels", help="Random: uniform over as many classes as the data has, one label a "
                 "distinct sample."),
]  # fmt: skip
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Seed of everything that is random.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def _version(wanted: bool) -> None:
    if wanted:
        print(f"lntheory {lntheory.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _load(data: str, label: str | None, labels: Labels = Labels.given, seed: int = 0) -> Dataset:
    dataset = load_dataset(data, label)
    if labels is Labels.given:
        return dataset
    drawn = random_labels(dataset.X, len(dataset.classes), seed)
    return dataset.with_labels(drawn, f"{dataset.name} with random labels (seed {seed})")


# ------------------------------------------------------------------------------------------------ shatter


@app.command()
def shatter(
    data: DataArgument,
    label: LabelOption = None,
    method: Annotated[
        str,
        typer.Option(
            help="auto (the shallowest within the budget), fold (searched for: far shallower), pairs (two "
            "merges a layer), minority-merge, or projection-merge (the paper's)."
        ),
    ] = "auto",
    budget: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Units of search for fold (default 2400) and auto (by the labels, at most 600); one takes "
            "0.01 to 0.1 s. The same seed and budget give the same net.",
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Search no longer, between layers; the units spent are told. For fold, auto.",
        ),
    ] = None,
    labels: LabelsOption = Labels.given,
    seed: SeedOption = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Where net.json, certificate.json, data.npz and the pictures go; all or none."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> Report:
    """Build a width-3 LN-Net that gives every sample its label, and prove that it does."""
    dataset = _load(data, label, labels, seed)
    given = {"budget": budget, "time_limit": time_limit}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if method in ("auto", "fold"):
        options["n_jobs"] = os.cpu_count() or 1  # immaterial for the net
    if out is None:
        net, certificate = _build_and_certify(dataset, method, seed, options)
        return _shatter_report(dataset, net, certificate, None, [], as_json)
    with replaced_directory_files(out) as staging:
        net, certificate = _build_and_certify(dataset, method, seed, options)
        net.save(staging / "net.json")
        certificate.save(staging / "certificate.json")
        save_dataset(dataset, staging / "data.npz")
        pictures = _save_pictures(net, dataset, staging)
    files = [out / name for name in ("net.json", "certificate.json", "data.npz", *(p.name for p in pictures))]
    return _shatter_report(dataset, net, certificate, out, files, as_json)


def _build_and_certify(
    dataset: Dataset, method: str, seed: int, options: dict[str, Any]
) -> tuple[LNNet, Certificate]:  # fmt: skip
    from lntheory.exact import certify

    with _progress("building the net") as progress:
        net = lntheory.shatter(
            dataset.X, dataset.y, method=method, random_state=seed, progress=progress, **options
        )
    with _progress("certifying it") as progress:
        return net, certify(net, dataset.X, dataset.y, progress=progress)


def _save_pictures(
    net: LNNet, dataset: Dataset, directory: Path, layers: list[int] | None = None
) -> list[Path]:
    if net.depth == 0:
        return []  # no normalization, no circle
    from lntheory.plotting import Trajectory, save_pictures  # matplotlib takes a while

    with _progress("following the samples") as progress:
        path = Trajectory.of(net, dataset.X, dataset.y, progress=progress)
    with _progress("drawing") as progress:
        return save_pictures(path, directory, layers=layers, progress=progress)


def _shatter_report(
    dataset: Dataset,
    net: LNNet,
    certificate: Certificate,
    out: Path | None,
    files: list[Path],
    as_json: bool,
) -> Report:
    values = {
        "status": "proved",
        "data": dataset.name,
        "n_samples": len(dataset.X),
        "n_features": dataset.X.shape[1],
        "n_classes": len(dataset.classes),
        "n_parameters": net.n_parameters,
        "provenance": net.to_dict().get("provenance"),
        **_certificate_values(certificate),
        "files": {path.stem: str(path) for path in files},
    }
    rows = [("samples", f"{len(dataset.X)} of {dataset.name}, {dataset.X.shape[1]} features")]
    rows += _construction_rows(net) + _certificate_rows(certificate)
    if out is None:
        rows.append(("files", "none; name a directory with --out DIR to keep net, certificate and pictures"))
    else:
        rows.append(("files", f"{out}{os.sep}: " + ", ".join(path.name for path in files)))
        if net.depth == 0:
            rows.append(("pictures", "none: no LN layer was needed, so there is no circle to draw"))
    return Report(values, rows, as_json)


def _construction_rows(net: LNNet) -> list[tuple[str, str]]:
    """What was tried, where several constructions were: their depths, the work spent, which was taken."""
    told = net.provenance or {}
    if "tried" not in told:
        return []
    texts = []
    for name, depth in told["tried"].items():
        text = f"{name} {'no shallower net' if depth is None else depth}"
        if name == "fold":
            text += (
                f" ({_counted(told['units'], 'unit')} of {told['budget']:,}, {_counted(told['runs'], 'run')})"
            )
        texts.append(text)
    texts += [f"not {name}: {why}" for name, why in told.get("untried", {}).items()]
    return [("tried", f"{', '.join(texts)}; took {told['construction']}")]


def _certificate_values(certificate: Certificate) -> dict[str, Any]:
    values = certificate.to_dict()
    for name in ("format", "version", "margins"):
        del values[name]
    return {**values, "wrong_samples": 0}


def _certificate_rows(certificate: Certificate) -> list[tuple[str, str]]:
    return [
        (
            "depth",
            f"{_counted(certificate.depth, 'LN layer')} of width {certificate.width}"
            if certificate.depth
            else "0 LN layers (linear)",
        ),
        ("wrong samples", f"0 of {certificate.n_samples}, {certificate.n_classes} classes: proved"),
        ("smallest margin", f"at least {certificate.margin:.6g}: proved"),
        ("precision", f"{certificate.precision} bits, by {certificate.method}"),
        ("arithmetic", _arithmetic(certificate)),
        ("SSR", f"{_interval(certificate.ssr_before)} before, {_interval(certificate.ssr_after)} after"),
        ("LSSR", f"{_interval(certificate.lssr_before)} before, {_interval(certificate.lssr_after)} after"),
    ]


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count:,} {noun}s"


def _arithmetic(certificate: Certificate) -> str:
    if certificate.float64_wrong is None or certificate.float32_wrong is None:
        return "dyadic: float64 no longer carries this net; its wider parameters are predicted in balls"
    passes = ((64, certificate.float64_wrong), (32, certificate.float32_wrong))
    told = [
        f"plain float{bits} pass " + ("agrees" if not wrong else f"gets {wrong} wrong")
        for bits, wrong in passes
    ]
    return f"float64 parameters; {', '.join(told)}"


def _interval(interval: tuple[float, float] | None) -> str:
    if interval is None:
        return "undefined"
    lower, upper = interval
    return f"{lower:.6g}" if f"{lower:.6g}" == f"{upper:.6g}" else f"[{lower:.3g}, {upper:.3g}]"


# ------------------------------------------------------------------------------------------------- verify


@app.command()
def verify(
    net: NetArgument,
    data: DataArgument,
    label: LabelOption = None,
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Check this certificate's hashes and claims as well."),
    ] = None,
    as_json: JsonOption = False,
) -> Report:
    """Prove again, from the files alone, that the net gives every sample its label."""
    from lntheory import exact
    from lntheory.network import LNNet

    claimed = None if certificate is None else exact.Certificate.load(certificate)
    network, dataset = LNNet.load(net), _load(data, label)
    with _progress("proving") as progress:
        if claimed is None:
            proved = exact.certify(network, dataset.X, dataset.y, progress=progress)
        else:
            proved = exact.verify(network, dataset.X, dataset.y, claimed, progress=progress)
    values = {"status": "proved", "certificate_checked": claimed is not None, **_certificate_values(proved)}
    rows = [("net", str(net)), *_certificate_rows(proved)]
    if claimed is not None:
        rows.append(("certificate", f"{certificate}: hashes are right, and it claims no more than is true"))
    return Report(values, rows, as_json)


# ---------------------------------------------------------------------------------------------------- ssr


@app.command()
def ssr(
    data: DataArgument,
    label: LabelOption = None,
    labels: LabelsOption = Labels.given,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> Report:
    """SSR and LSSR, overall and of each class against the rest: in float64, and exactly.

    Exactly means of the doubles that the data is; of a .csv also of its decimals as they are written, which
    is not the same data (0.1 is no double).
    """
    dataset = _load(data, label, labels, seed)
    sources: dict[str, Any] = {"doubles": dataset.X}
    if Path(data).suffix.lower() == ".csv":
        sources["as_written"] = read_fractions(data, label)
    classes = dataset.classes.tolist()
    groupings = {"all classes": dataset.y.tolist()}
    groupings |= {f"{c} against the rest": [v == c for v in dataset.y.tolist()] for c in classes}
    measured, notes = [], []
    with _progress("computing exactly") as progress:
        for done, (name, y) in enumerate(groupings.items()):
            result, warned = _measure(dataset.X, y, sources)
            measured.append({"labels": name, "class": None if done == 0 else classes[done - 1], **result})
            notes += [f"{name}: {text}" for text in warned]
            progress(done + 1, len(groupings))
    values = {
        "status": "computed",
        "data": dataset.name,
        "n_samples": len(dataset.X),
        "n_classes": len(classes),
        "overall": measured[0],
        "by_class": measured[1:],
        "warnings": notes,
    }
    rows = [("data", f"{len(dataset.X)} samples of {dataset.name}, {len(classes)} classes")]
    rows += [("warning", note) for note in notes]
    return Report(values, rows, as_json, [_ssr_table(measured, list(sources))])


def _measure(X: Any, y: list[Any], sources: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    from lntheory import exact

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = lntheory.separability(X, y)
    result: dict[str, Any] = {
        "float64": {
            "ssr": found.ssr,
            "lssr": found.lssr,
            "rank": found.rank,
            "error_bound": _finite(found.error_bound),
        }
    }
    result |= {
        name: {"ssr": _exact_value(exact.ssr(samples, y)), "lssr": _exact_value(exact.lssr(samples, y))}
        for name, samples in sources.items()
    }
    return result, [str(warning.message) for warning in caught]


_LONGEST_FRACTION = 400  # digits that a person, or a spreadsheet, would still want to see


def _exact_value(value: Fraction | AlgebraicEnclosure) -> dict[str, Any]:
    """Bounds as float64, rounded outwards; the fraction itself where it is a readable one."""
    rational = isinstance(value, Fraction)
    lower, upper = (value, value) if isinstance(value, Fraction) else (value.lower, value.upper)
    result = {
        "value": float(value),
        "lower": _down(lower),
        "upper": -_down(-upper) + 0.0,
        "rational": rational,
    }
    bits = lower.numerator.bit_length() + lower.denominator.bit_length()
    if lower == upper and bits * math.log10(2) < _LONGEST_FRACTION:
        return {**result, "rational": True, "fraction": str(lower)}
    return {**result, "fraction": None}


def _down(value: Fraction) -> float:
    nearest = float(value)
    return math.nextafter(nearest, -math.inf) if Fraction(nearest) > value else nearest


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


_SOURCES = {"doubles": "exact, of the doubles", "as_written": "exact, as written"}


def _ssr_table(measured: list[dict[str, Any]], sources: list[str]) -> Table:
    table = Table("labels", "", "float64", *(_SOURCES[name] for name in sources))
    for entry in measured:
        for verb in ("ssr", "lssr"):
            cells = [f"{entry['float64'][verb]:.12g}", *(_exact_text(entry[name][verb]) for name in sources)]
            table.add_row(entry["labels"] if verb == "ssr" else "", verb.upper(), *cells)
    return table


def _exact_text(value: dict[str, Any]) -> str:
    if value["fraction"] is not None and len(value["fraction"]) <= 24:
        return (
            f"{value['fraction']} = {value['value']:.12g}" if "/" in value["fraction"] else value["fraction"]
        )
    return f"{value['value']:.15g} ({'rational' if value['rational'] else 'algebraic'})"


# --------------------------------------------------------------------------------------------------- show


@app.command()
def show(
    net: NetArgument,
    data: Annotated[str | None, typer.Argument(metavar="[DATA]", help="Draw what it does to these.")] = None,
    label: LabelOption = None,
    layers: Annotated[
        str | None, typer.Option(metavar="K,K,...", help="Draw the points after these many layers.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the pictures go; by default beside the net.")
    ] = None,
    as_json: JsonOption = False,
) -> Report:
    """Say what a net is; with data, draw what it does to it (nothing is proved: see verify)."""
    from lntheory.network import LNNet

    network = LNNet.load(net)
    values, rows = _net_values(network), _net_rows(network)
    if data is None:
        return Report(values, rows, as_json)
    dataset, chosen = _load(data, label), _layer_numbers(layers, network.depth)
    with _progress("predicting") as progress:
        progress(0, 1)
        predicted = network.predict(dataset.X).tolist()
    wrong = sum(ours != theirs for ours, theirs in zip(predicted, dataset.y.tolist(), strict=True))
    with replaced_directory_files(out or net.parent) as staging:
        names = [path.name for path in _save_pictures(network, dataset, staging, chosen)]
    files = [(out or net.parent) / name for name in names]
    values |= {"wrong_samples": wrong, "proved": False, "files": {path.stem: str(path) for path in files}}
    rows.append(("wrong samples", f"{wrong} of {len(dataset.X)}, as computed (lntheory verify proves it)"))
    rows.append(("pictures", ", ".join(map(str, files)) or "none: a net without LN layers draws no circle"))
    return Report(values, rows, as_json)


def _layer_numbers(text: str | None, depth: int) -> list[int] | None:
    if text is None:
        return None
    try:
        numbers = [int(number) for number in text.split(",")]
    except ValueError:
        raise InvalidInputError(f"--layers {text}: give numbers separated by commas, as in 0,10,20") from None
    if not all(0 <= number <= depth for number in numbers):
        raise InvalidInputError(f"--layers {text}: the net has layers from 0 (the samples) to {depth}")
    return numbers


def _net_values(network: LNNet) -> dict[str, Any]:
    return {
        "status": "shown",
        "depth": network.depth,
        "width": network.width,
        "n_features": network.n_features,
        "n_parameters": network.n_parameters,
        "classes": list(network.classes),
        "normalization": network.normalization.to_dict(),
        "arithmetic": network.arithmetic,
        "sha256": network.sha256,
        "provenance": network.to_dict().get("provenance"),
    }


def _net_rows(network: LNNet) -> list[tuple[str, str]]:
    classes = [str(label) for label in network.classes]
    listed = ", ".join(classes[:12]) + (", ..." if len(classes) > 12 else "")
    provenance = network.to_dict().get("provenance") or {}
    told = [
        f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in provenance.items()
        if isinstance(value, (str, int, float))
    ]
    return [
        (
            "LN-Net",
            f"{_counted(network.depth, 'layer')} of {network.normalization.kind}, width {network.width}",
        ),
        ("features", str(network.n_features)),
        ("classes", f"{len(classes)}: {listed}"),
        ("parameters", f"{network.n_parameters}, {network.arithmetic}"),
        ("provenance", ", ".join(told) or "not stated"),
        ("SHA-256", network.sha256),
    ]


# ------------------------------------------------------------------------------------------------- export


class DType(StrEnum):
    """The numbers of an exported net."""

    float64 = "float64"
    float32 = "float32"


@app.command()
def export(
    net: NetArgument,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="FILE", help="net.onnx (ONNX) or net.pt2 (a torch program), by its suffix."
        ),
    ],
    data: Annotated[
        str | None,
        typer.Argument(metavar="[DATA]", help="Prove that the exported net gives these their labels."),
    ] = None,
    eps: Annotated[
        float,
        typer.Option(
            metavar="EPS",
            help="Epsilon of the norms, as 1e-5; the layers are scaled up until the labels survive it, which "
            "needs DATA. 0 keeps the net's own.",
        ),
    ] = 0.0,
    dtype: Annotated[DType, typer.Option(help="Numbers of the exported net.")] = DType.float64,
    label: LabelOption = None,
    as_json: JsonOption = False,
) -> Report:
    """Write a net for torch or for ONNX runtimes; with data, only if it provably keeps every label.

    Proved in real arithmetic with this epsilon, and against rounding in these numbers in any order. The file
    is then run once. Nothing is written otherwise.
    """
    from lntheory.network import LNNet

    writer = {".onnx": _write_onnx, ".pt2": _write_program}.get(out.suffix)
    if writer is None:
        raise InvalidInputError(f"--out {out}: choose a name that ends in .onnx or .pt2")
    network, dataset = LNNet.load(net), None if data is None else _load(data, label)
    from lntheory import nn

    X, y = (None, None) if dataset is None else (dataset.X, dataset.y)
    with _progress("converting" if dataset is None else "proving") as progress:
        module = nn.to_torch(network, eps, X=X, y=y, dtype=dtype.value, progress=progress)
    with replaced_file(out) as beside:
        run = writer(module, beside)
        if dataset is not None:
            _require_labels(run(dataset.X.astype(dtype)), module, dataset)
    certificate = module.certificate
    values = {
        "status": "shown" if certificate is None else "proved",
        "file": str(out),
        "dtype": str(dtype),
        "eps": module.normalization.eps,
        "exponent": module.exponent,
        "classes": list(module.classes),
        "score_error": module.score_error,
        **({} if certificate is None else _certificate_values(certificate)),
    }
    rows = [
        ("file", str(out)),
        ("numbers", f"{dtype}, eps {module.normalization.eps:g}, layers scaled by 2^{module.exponent}"),
        ("classes", ", ".join(map(str, module.classes))),
    ]
    if certificate is None:
        rows.append(("proved", "nothing; name the DATA whose labels it has to keep"))
    else:
        rows += _certificate_rows(certificate)
        rows.append(("rounding", f"moves a score by at most {module.score_error:.3g}, in any order: proved"))
        rows.append(("the file", "was run on the data here: the same labels"))
    return Report(values, rows, as_json)


def _write_onnx(module: LNSequential, path: Path) -> Callable[[Any], Any]:
    """Write the module; what is returned runs the file: samples -> scores."""
    from lntheory.nn.onnx import export_onnx

    export_onnx(module, path)

    def run(X: Any) -> Any:
        try:
            import onnxruntime
        except ModuleNotFoundError:
            raise MissingDependencyError(
                "running the file needs onnxruntime; pip install 'lntheory[onnx]', or leave DATA out"
            ) from None
        return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(
            ["scores"], {"X": X}
        )[0]

    return run


def _write_program(module: LNSequential, path: Path) -> Callable[[Any], Any]:
    import torch

    from lntheory.nn import export_program

    with _progress("exporting"):
        export_program(module, path)
    return lambda X: torch.export.load(path).module()(torch.from_numpy(X)).detach().numpy()


def _require_labels(scores: Any, module: LNSequential, dataset: Dataset) -> None:
    predicted = module.labels(scores).tolist()
    wrong = [i for i, (a, b) in enumerate(zip(predicted, dataset.y.tolist(), strict=True)) if a != b]
    if wrong:
        raise RefutedError(
            f"the file gives sample {wrong[0]} another label when it is run here, though the module keeps "
            "it: the runtime rounds worse than float arithmetic should; use another runtime",
            wrong,
        )


# -------------------------------------------------------------------------------------------------- prove


@app.command()
def prove(
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NAME", help="This claim; may be repeated.")
    ] = None,
    deep: Annotated[bool, typer.Option("--deep", help="More cases where a claim has them; slow.")] = False,
    list_names: Annotated[bool, typer.Option("--list", help="List the claims, prove nothing.")] = False,
    as_json: JsonOption = False,
) -> Report:
    """Prove every theorem that this library rests on, and refute the false twin of each.

    Exit code 1 if a claim fails or a false twin does not.
    """
    from proofs_checks import registry, runner

    if list_names:
        listed = registry.claims()
        return Report(
            {"status": "listed", "claims": [claim.name for claim in listed]},
            [(claim.name, f"{claim.title} ({claim.source})") for claim in listed],
            as_json,
        )
    unknown = sorted(set(only or ()) - {claim.name for claim in registry.claims()})
    if unknown:
        raise InvalidInputError(f"no claim is called {', '.join(unknown)}; lntheory prove --list names them")
    with _progress("proving") as progress:
        results = runner.run(only, deep=deep, progress=progress)
    failures = [failure for result in results for failure in result.failures]
    skipped = [result.claim.name for result in results if result.evidence.told == "skipped"]
    values = {
        "status": "refuted" if failures else "skipped" if skipped else "proved",
        "claims": [runner.values(result) for result in results],
        "failures": failures,
        "skipped": skipped,
    }
    rows = [("failed", failure) for failure in failures]
    rows += [("skipped", f"{name} (needs z3: pip install 'lntheory[smt]')") for name in skipped]
    console = Console()
    table = runner.table(results, console.width if console.is_terminal else None)
    return Report(values, rows, as_json, [table], REFUTED if failures else PROVED)


# ----------------------------------------------------------------------------------------------------- vc


@app.command()
def vc(
    depth: Annotated[int, typer.Option(min=0, help="Number of LN layers; the table goes up to it.")] = 5,
    dim: Annotated[int, typer.Option(min=1, help="Dimension of the samples.")] = 2,
    build: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Build and certify a net for every labeling at this depth; resumes if stopped.",
        ),
    ] = None,
    samples: Annotated[
        int | None, typer.Option(min=1, max=30, help="With --build: how many points, by default our bound.")
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option("--verify", metavar="FILE", help="Prove afresh a record that --build wrote."),
    ] = None,
    jobs: Annotated[int, typer.Option(help="With --build: processes, -1 for one a core.")] = -1,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> Report:
    """Bounds of the VC dimension of width-3 LN-Nets, by depth; certified records of the lower ones."""
    from lntheory import exact
    from lntheory import vc as bounds

    if build is not None and record is not None:
        raise InvalidInputError("--build verifies what it writes; give either --build or --verify")
    if record is not None:
        with _progress("proving") as progress:
            return _shattering_report(record, exact.verify_shattering(record, progress=progress), as_json)
    if build is not None:
        with _progress("building and certifying every labeling") as progress:
            proof = bounds.build_lower_bound(
                depth, dim, path=build, n_samples=samples, random_state=seed, n_jobs=jobs, progress=progress
            )
        return _shattering_report(build, proof, as_json)
    rows = [
        {
            "depth": at,
            "lower_bound": bounds.lower_bound(at, dim),
            "paper_lower_bound": bounds.paper_lower_bound(at) if at else None,
            "upper_bound": bounds.upper_bound(at, dim),
        }
        for at in range(depth + 1)
    ]
    table = Table("depth", "ours, at least", "paper, at least", "at most", title=f"VC dimension on R^{dim}")
    for row in rows:
        table.add_row(*("-" if value is None else str(value) for value in row.values()))
    note = "every labeling of a bound's points is certified by --build FILE; the upper bound is by counting"
    return Report({"status": "computed", "dim": dim, "bounds": rows}, [("note", note)], as_json, [table])


def _shattering_report(path: Path, proof: ShatteringProof, as_json: bool) -> Report:
    values = {"status": "proved", "file": str(path), **dataclasses.asdict(proof)}
    rows = [
        ("record", str(path)),
        ("proved", f"VC dimension at least {proof.n_samples} on R^{proof.dim} with {proof.depth} LN layers"),
        (
            "nets",
            f"{proof.n_nets}, one a pair of complementary labelings; the deepest has {proof.deepest} layers",
        ),
        ("smallest margin", f"at least {proof.margin:.6g}: proved"),
    ]
    return Report(values, rows, as_json)
