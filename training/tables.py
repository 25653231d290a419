"""Tables made of records alone, as markdown and CSV: no torch, no data, the same bytes every time.

::

    records ─► best settings ─┬─► markdown: table, by depth, verdicts, how it was made
                              ├─► CSV: one line a method
                              └─► figures

Every reported value is shown with the words of `training.reported.NOTE`; a record of embedded or stand-in
data, or of a subset, says so in its heading, under its table, in its CSV lines and in its figure.
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Sequence
from pathlib import Path

from lntheory.base.files import replaced_directory_files
from lntheory.errors import InvalidInputError
from training.figures import figure
from training.records import Ceiling, CertifiedNet, Record
from training.reported import DISPLAYED, NOTE, QUALITATIVE, REPORTED, reported_accuracy
from training.selection import (
    LINEAR,
    Setting,
    best_depths,
    best_settings,
    experiment_title,
    final_accuracies,
    heading,
    linear_bound,
    stand_in,
    title,
)

__all__ = ["csv_text", "markdown", "verdicts", "write_tables"]


def _percent(value: float | None, digits: int = 2) -> str:
    return "" if value is None else f"{100 * value:.{digits}f}"


def _signed(value: float | None) -> str:
    return "" if value is None else f"{100 * value:+.2f}"


def _gap(record: Record, norm: str, mean: float | None) -> float | None:
    """Ours minus the reported accuracy, on the same data."""
    target = reported_accuracy(record.data.name, norm)
    return None if target is None or stand_in(record) or mean is None else mean - target / 100


def verdicts(record: Record) -> list[str]:
    """What the paper's tables say without a number, each with a plain yes or no for this record, and why."""
    bound = linear_bound(record)
    if bound is None:
        return ["No linear run finished, so nothing can be compared with the linear bound."]
    best = {s.method[:2]: s for s in best_depths(best_settings(record)) if s.mean is not None}
    lines = []
    if ("ln", None) in best:
        lines.append(
            _verdict_of_ln(best["ln", None], bound, max(final_accuracies(record, ("bn",)), default=0))
        )
    if ("bn", None) in best:
        lines.append(_verdict_of_bn(best["bn", None], bound))
    groups = {key[1]: s for key, s in best.items() if key[0] == "ln-g" and key[1] is not None}
    if groups and ("ln", None) in best:
        lines.append(_verdict_of_groups({1: best["ln", None], **groups}))
    return lines + _above_what_is_proved(record, list(best.values()))


def _verdict(norm: str, holds: bool, why: str) -> str:
    return f"{QUALITATIVE[norm]}: **{'yes' if holds else 'no'}** ({why})"


def _verdict_of_ln(setting: Setting, bound: float, bn: float) -> str:
    """A BN-Net that was found is a linear classifier too, so it counts against LN's claim."""
    mean = setting.mean or 0.0
    why = f"{_percent(mean)} % at depth {setting.config.depth} against {_percent(bound)} %"
    if bn > bound:
        why += f", and against {_percent(bn)} % of the best BN-Net, which is linear once trained"
    return _verdict("ln", mean > max(bound, bn), why)


def _verdict_of_bn(setting: Setting, bound: float) -> str:
    mean = setting.mean or 0.0
    why = f"{_percent(mean)} % at depth {setting.config.depth} against {_percent(bound)} %"
    if mean > bound:
        why += "; once trained it is a linear classifier, so the bound found is too low"
    return _verdict("bn", mean <= bound, why)


def _above_what_is_proved(record: Record, best: Sequence[Setting]) -> list[str]:
    """Nets that no linear classifier equals, whatever its training: by the conflicts, so without a doubt."""
    if record.ceiling is None:
        return []
    most = (record.data.n_samples - record.ceiling.n_conflicts) / record.data.n_samples
    above = [f"{title(*s.method[:2])} ({_percent(s.mean)} %)" for s in best if (s.mean or 0.0) > most]
    if not above:
        return []
    return [f"Above what is proved of every linear classifier (≤ {_percent_up(most)} %): {', '.join(above)}"]


def _verdict_of_groups(by_groups: dict[int, Setting]) -> str:
    """Yes if some LN-G is above LN, and groups of two neurons, where there are any, are below the best."""
    width = by_groups[1].config.width
    told = {groups: setting.mean or 0.0 for groups, setting in by_groups.items()}
    top = max(told, key=lambda groups: (told[groups], -groups))
    pairs = width // 2
    why = f"best with {top} groups of {width // top} neurons; by number of groups "
    why += ", ".join(f"{groups}: {_percent(mean)} %" for groups, mean in told.items())
    if pairs not in told:
        why += "; groups of 2 were not tried"
    return _verdict("ln-g", top > 1 and top != pairs, why)


# ---------------------------------------------------------------------------------------------- markdown


def markdown(record: Record) -> str:
    """The section of one record: what it is, the table, by depth, the verdicts, how it was made."""
    parts = [
        f"## {heading(record)}",
        _description(record),
        _summary_table(record),
        f"Accuracies in percent. “Reported” is the paper's, at its scale: {NOTE}. "
        + (
            "No gap is given where the data differ: this is " + why + "."
            if (why := stand_in(record))
            else "The gap is ours minus the reported one."
        ),
        _depth_table(record),
        f"What the paper's tables say in words ({NOTE}), on this record:\n\n"
        + "\n".join(f"* {line}" for line in verdicts(record)),
        _provenance(record),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _description(record: Record) -> str:
    data, config = record.data, record.runs[0].config
    seeds = len({run.config.seed for run in record.runs})
    labels = (
        f"labels drawn once (seed {record.labels.seed})" if record.labels.seed is not None else "true labels"
    )
    return (
        f"Final *training* accuracy. {data.origin}: {data.n_samples:,} samples, {data.n_features:,} "
        f"features, {data.n_classes} classes, {labels}. Width {config.width}, {config.epochs} epochs, "
        f"learning rate times {config.lr_gamma:g} every {config.lr_step} epochs; {len(record.runs)} runs, "
        f"{seeds} {'seeds' if seeds != 1 else 'seed'}. Each row is the best setting of its method by mean "
        "final accuracy, with mean and standard deviation (sd) over its n seeds."
    )


def _summary_table(record: Record) -> str:
    bound = linear_bound(record)
    sets = list(dict.fromkeys(r.data for r in REPORTED))
    header = ["method", "depth", "best setting", "mean", "sd", "n", "over linear bound"]
    header += [f"reported ({DISPLAYED[name]})" for name in sets] + ["gap"]
    rows = []
    for setting in best_depths(best_settings(record)):
        norm = setting.config.norm
        over = None if bound is None or setting.mean is None or norm in LINEAR else setting.mean - bound
        mean = "all runs diverged" if setting.mean is None else _percent(setting.mean)
        if setting.mean is not None and setting.n_diverged:
            mean += f" ({setting.n_diverged} more diverged)"
        rows.append([
            title(*setting.method[:2]), str(setting.config.depth), setting.text, mean,
            _percent(setting.deviation), str(len(setting.accuracies)), _signed(over),
            *([""] * (len(sets) + 1) if norm == "linear" else _compared(record, norm, setting.mean)),
        ])  # fmt: skip
    if bound is not None:
        count = len(final_accuracies(record, LINEAR))
        text = "the best of all optimizers, learning rates and seeds"
        row = ["linear bound, found", "", text, _percent(bound), "", str(count), ""]
        rows.append(row + _compared(record, "linear", bound))
    rows += [row + [""] * (len(header) - len(row)) for row in _proved_rows(record, bound)]
    return _table(header, rows, left=(0, 2))


def _compared(record: Record, norm: str, mean: float | None) -> list[str]:
    """The cells of the reported values, and of the gap to that of the same data.

    What is reported of the linear classifier is its best, so our best found is compared, not the mean.
    """
    targets = [reported_accuracy(name, norm) for name in dict.fromkeys(r.data for r in REPORTED)]
    cells = ["" if target is None else f"{target:.2f}" for target in targets]
    return [*cells, _signed(_gap(record, norm, mean)) or ("other data" if any(targets) else "")]


def _proved_rows(record: Record, bound: float | None) -> list[list[str]]:
    rows = []
    if record.ceiling is not None:
        rows += _ceiling_rows(record.ceiling, record)
    if record.certified is not None:
        net = record.certified
        whole = net.n_samples == record.data.n_samples  # the bound is of all samples: fewer are easier
        over = net.accuracy - bound if whole and bound is not None else None
        part = "" if whole else f"first {net.n_samples:,} samples: "
        what = f"width-{net.width} LN-Net, certified" if net.depth else "linear, certified"
        how = f"{part}built, not trained; {net.n_parameters:,} parameters; {_seconds(net)}"
        rows.append([what, str(net.depth), how, _percent(net.accuracy), "", "", _signed(over)])
    return rows


def _seconds(net: CertifiedNet) -> str:
    return f"{net.build_seconds:.0f} s to build, {net.certify_seconds:.0f} s to prove"


def _ceiling_rows(ceiling: Ceiling, record: Record) -> list[list[str]]:
    n_samples = record.data.n_samples
    rows = []
    if ceiling.n_conflicts:
        why = f"{ceiling.n_conflicts} disjoint sets that no linear classifier gets right"
        rows.append(
            ["linear, proved", "", why, f"≤ {_percent_up((n_samples - ceiling.n_conflicts) / n_samples)}"]
        )
    else:
        rows.append(
            ["linear, proved", "", "no set was found that linear classifiers cannot get right", "≤ 100.00"]
        )
    if ceiling.probably_at_most is not None:
        why = f"by counting, but for labels of probability {ceiling.risk:g}"
        rows.append(
            ["linear, almost surely", "", why, f"≤ {_percent_up(ceiling.probably_at_most / n_samples)}"]
        )
    return rows


def _percent_up(value: float) -> str:
    """Rounded up: a bound must stay one."""
    return f"{math.ceil(10_000 * value - 1e-9) / 100:.2f}"


def _depth_table(record: Record) -> str:
    settings = best_settings(record)
    depths = sorted({s.config.depth for s in settings if s.config.norm != "linear"})
    if not depths:
        return ""
    by_method: dict[tuple[str, int | None], dict[int, Setting]] = {}
    for s in settings:
        if s.config.norm != "linear":
            by_method.setdefault(s.method[:2], {})[s.config.depth] = s
    rows = [
        [title(*key), *(_mean_and_deviation(found.get(depth)) for depth in depths)]
        for key, found in by_method.items()
    ]
    return "By depth, each at its best setting:\n\n" + _table(
        ["method", *(f"depth {depth}" for depth in depths)], rows, left=(0,)
    )


def _mean_and_deviation(setting: Setting | None) -> str:
    if setting is None:
        return ""
    if setting.mean is None:
        return "diverged"
    spread = "" if setting.deviation is None else f" ± {_percent(setting.deviation)}"
    return _percent(setting.mean) + spread


def _provenance(record: Record) -> str:
    lines = [f"    {record.command}", ""]
    versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    device = record.device
    where = device.name + (f", {device.threads} threads" if device.threads > 1 else "")
    lines.append(f"{record.started[:10]}; {record.seconds:,.0f} s of training on {where}; {versions}.")
    if record.ceiling is not None and record.ceiling.lssr is not None:
        lower, upper = record.ceiling.lssr
        value = f"= {lower:.6f}" if f"{lower:.6f}" == f"{upper:.6f}" else f"in [{lower}, {upper}]"
        lines.append(f"LSSR of samples and labels {value}, exactly enclosed.")
    if record.certified is not None:
        net = record.certified
        lines.append(
            f"The certified net: {net.method}, {net.arithmetic} parameters, proved at {net.precision} bits, "
            f"SHA-256 {net.net_sha256[:16]}…"
            + (f"; {net.n_contradictory} samples equal one of another label" if net.n_contradictory else "")
            + "."
        )
    lines.append(f"Data SHA-256 {record.data.sha256[:16]}…, labels {record.labels.sha256[:16]}….")
    return "\n".join(lines[:2]) + "\n" + " ".join(lines[2:])


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int]) -> str:
    """A markdown table that can be read as it stands, too."""
    widths = [max(len(row[k]) for row in (header, *rows)) for k in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell.ljust(width) if k in left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return f"| {' | '.join(padded)} |"

    rule = ("-" * (width + 2) if k in left else "-" * (width + 1) + ":" for k, width in enumerate(widths))
    return "\n".join([line(header), f"|{'|'.join(rule)}|", *map(line, rows)])


# --------------------------------------------------------------------------------------------------- CSV

_COLUMNS = (
    "record", "experiment", "preset", "data", "stand_in", "n_samples", "kind", "norm", "num_groups", "depth",
    "width", "optimizer", "lr", "batch_size", "epochs", "n", "n_diverged", "mean", "sd", "linear_bound",
    "reported", "gap", "note",
)  # fmt: skip


def csv_text(records: Sequence[Record]) -> str:
    """One line for every method at its best setting, and for every proved bound; accuracies as fractions.

    `reported` is of the same data only. `kind` is "trained", "linear bound, found" (of all linear runs the
    best), "bound" (proved, of linear classifiers) or "certified".
    """
    stream = io.StringIO()
    writer = csv.DictWriter(stream, _COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    for record in records:
        for row in _csv_rows(record):
            writer.writerow({name: "" if value is None else value for name, value in row.items()})
    return stream.getvalue()


def _reported_columns(
    record: Record, norm: str, mean: float | None, target: float | None
) -> dict[str, object]:
    if target is None:
        return {}
    return {"reported": round(target / 100, 6), "gap": _gap(record, norm, mean), "note": NOTE}


def _csv_rows(record: Record) -> list[dict[str, object]]:
    data, bound = record.data, linear_bound(record)
    common: dict[str, object] = {
        "record": record.name, "experiment": record.experiment, "preset": record.preset, "data": data.name,
        "stand_in": stand_in(record), "n_samples": data.n_samples, "linear_bound": bound,
    }  # fmt: skip
    rows = []
    settings = best_settings(record)
    best = {setting.method for setting in best_depths(settings)}
    for setting in settings:
        c = setting.config
        target = reported_accuracy(data.name, c.norm) if setting.method in best else None
        rows.append({
            **common, "kind": "trained", "norm": c.norm, "num_groups": c.num_groups, "depth": c.depth,
            "width": c.width, "optimizer": c.optimizer, "lr": c.lr, "batch_size": c.batch_size,
            "epochs": c.epochs, "n": len(setting.accuracies), "n_diverged": setting.n_diverged,
            "mean": setting.mean, "sd": setting.deviation,
            **({} if c.norm == "linear" else _reported_columns(record, c.norm, setting.mean, target)),
        })  # fmt: skip
    if bound is not None:
        target = reported_accuracy(data.name, "linear")
        rows.append({
            **common, "kind": "linear bound, found", "norm": "linear", "mean": bound,
            "n": len(final_accuracies(record, LINEAR)),
            **_reported_columns(record, "linear", bound, target),
        })  # fmt: skip
    if record.ceiling is not None:
        n, ceiling = data.n_samples, record.ceiling
        note = f"proved: {ceiling.n_conflicts} disjoint conflicts"
        rows.append({**common, "kind": "bound", "norm": "linear", "mean": (n - ceiling.n_conflicts) / n,
                     "note": note})  # fmt: skip
        if ceiling.probably_at_most is not None:
            note = f"by counting, but for labels of probability {ceiling.risk:g}"
            rows.append({**common, "kind": "bound", "norm": "linear", "mean": ceiling.probably_at_most / n,
                         "note": note})  # fmt: skip
    if record.certified is not None:
        net = record.certified
        note = f"{net.method}; {net.n_parameters} parameters; proved for {net.n_samples} samples"
        rows.append({
            **common, "kind": "certified", "norm": "ln" if net.depth else "linear", "depth": net.depth,
            "width": net.width, "n": 1, "mean": net.accuracy, "note": note,
        })  # fmt: skip
    return rows


# -------------------------------------------------------------------------------------------------- files


def write_tables(records: Sequence[Record], directory: str | os.PathLike[str]) -> list[Path]:
    """Write for every experiment one ``.md`` and one ``.csv``, and a ``.png`` for every record; all or none.

    Parameters
    ----------
    records : sequence of Record
    directory : str or path
        Other files in it stay as they are.

    Returns
    -------
    list of Path
        What was written.
    """
    if not records:
        raise InvalidInputError("no records, so there is no table; run an experiment first")
    names = []
    with replaced_directory_files(directory) as staging:
        for experiment in sorted({record.experiment for record in records}):
            own = [record for record in records if record.experiment == experiment]
            sections = (f"{markdown(record)}\n![{heading(record)}]({record.name}.png)\n" for record in own)
            text = "\n".join([f"# {experiment_title(experiment)}: tables of records\n", *sections])
            (staging / f"{experiment}.md").write_text(text, encoding="utf-8", newline="\n")
            (staging / f"{experiment}.csv").write_text(csv_text(own), encoding="utf-8", newline="\n")
            names += [f"{experiment}.md", f"{experiment}.csv"]
            for record in own:
                figure(record).savefig(staging / f"{record.name}.png", metadata={"Software": None})
                names.append(f"{record.name}.png")
    return [Path(directory, name) for name in names]
