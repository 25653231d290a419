"""The page of the random-label table: its rows, verdicts, figure and words.

Choosing the best setting by the very accuracy that is shown favours every method, the linear baseline most:
its grid is the largest. That is the paper's way, and what makes the linear row a bound from above.

Every reported value is shown with the words of `training.tables.reported.NOTE`; a record of embedded or
stand-in data, or of a subset, says so in its heading, under its table, in its CSV lines and in its figure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from lntheory.base.markdown import markdown_table

from ..run.record import Ceiling, CertifiedNet, Record
from .methods import (
    LINEAR,
    best_depths,
    best_settings,
    final_accuracies,
    heading,
    linear_bound,
    method,
    net_of,
    norm_of,
    stand_in,
    title,
)  # fmt: skip
from .page import Page, csv_of, provenance
from .random_labels_figure import figure
from .reported import DISPLAYED, NOTE, QUALITATIVE, REPORTED, reported_accuracy
from .selection import Setting

__all__ = ["PAGE", "csv_text", "markdown", "percent_up", "verdicts"]


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
    best = {norm_of(s): s for s in best_depths(best_settings(record)) if s.mean is not None}
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
    why = f"{_percent(mean)} % at depth {net_of(setting.config).depth} against {_percent(bound)} %"
    if bn > bound:
        why += f", and against {_percent(bn)} % of the best BN-Net, which is linear once trained"
    return _verdict("ln", mean > max(bound, bn), why)


def _verdict_of_bn(setting: Setting, bound: float) -> str:
    mean = setting.mean or 0.0
    why = f"{_percent(mean)} % at depth {net_of(setting.config).depth} against {_percent(bound)} %"
    if mean > bound:
        why += "; once trained it is a linear classifier, so the bound found is too low"
    return _verdict("bn", mean <= bound, why)


def _above_what_is_proved(record: Record, best: Sequence[Setting]) -> list[str]:
    """Nets that no linear classifier equals, whatever its training: by the conflicts, so without a doubt."""
    if record.ceiling is None:
        return []
    most = (record.data.n_samples - record.ceiling.n_conflicts) / record.data.n_samples
    above = [f"{title(*norm_of(s))} ({_percent(s.mean)} %)" for s in best if (s.mean or 0.0) > most]
    if not above:
        return []
    return [f"Above what is proved of every linear classifier (≤ {percent_up(most)} %): {', '.join(above)}"]


def _verdict_of_groups(by_groups: dict[int, Setting]) -> str:
    """Yes if some LN-G is above LN, and groups of two neurons, where there are any, are below the best."""
    width = net_of(by_groups[1].config).width
    means = {groups: setting.mean or 0.0 for groups, setting in by_groups.items()}
    top = max(means, key=lambda groups: (means[groups], -groups))
    pairs = width // 2
    why = f"best with {top} groups of {width // top} neurons; by number of groups "
    why += ", ".join(f"{groups}: {_percent(mean)} %" for groups, mean in means.items())
    if pairs not in means:
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
    net, schedule = net_of(config), config.schedule
    seeds = len({run.config.seed for run in record.runs})
    drawn = record.labels is not None and record.labels.seed is not None
    labels = f"labels drawn once (seed {record.labels.seed})" if drawn and record.labels else "true labels"
    return (
        f"Final *training* accuracy. {data.origin}: {data.n_samples:,} samples, {data.n_features:,} "
        f"features, {data.n_classes} classes, {labels}. Width {net.width}, {config.epochs} epochs, "
        f"learning rate times {schedule.gamma:g} every {schedule.every} {schedule.unit}; "
        f"{len(record.runs)} runs, {seeds} {'seeds' if seeds != 1 else 'seed'}. "
        "Each row is the best setting of its method by mean final accuracy, with mean and "
        "standard deviation (sd) over its n seeds."
    )


def _summary_table(record: Record) -> str:
    bound = linear_bound(record)
    sets = list(dict.fromkeys(r.data for r in REPORTED))
    header = ["method", "depth", "best setting", "mean", "sd", "n", "over linear bound"]
    header += [f"reported ({DISPLAYED[name]})" for name in sets] + ["gap"]
    rows = []
    for setting in best_depths(best_settings(record)):
        norm, depth = net_of(setting.config).norm, net_of(setting.config).depth
        over = None if bound is None or setting.mean is None or norm in LINEAR else setting.mean - bound
        mean = "all runs diverged" if setting.mean is None else _percent(setting.mean)
        if setting.mean is not None and setting.n_diverged:
            mean += f" ({setting.n_diverged} more diverged)"
        rows.append([
            title(*norm_of(setting)), str(depth), setting.text, mean,
            _percent(setting.deviation), str(len(setting.values)), _signed(over),
            *([""] * (len(sets) + 1) if norm == "linear" else _compared(record, norm, setting.mean)),
        ])  # fmt: skip
    if bound is not None:
        count = len(final_accuracies(record, LINEAR))
        text = "the best of all optimizers, learning rates and seeds"
        row = ["linear bound, found", "", text, _percent(bound), "", str(count), ""]
        rows.append(row + _compared(record, "linear", bound))
    rows += [row + [""] * (len(header) - len(row)) for row in _proved_rows(record, bound)]
    return markdown_table(header, rows)


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
            ["linear, proved", "", why, f"≤ {percent_up((n_samples - ceiling.n_conflicts) / n_samples)}"]
        )
    else:
        rows.append(
            ["linear, proved", "", "no set was found that linear classifiers cannot get right", "≤ 100.00"]
        )
    if ceiling.probably_at_most is not None:
        why = f"by counting, but for labels of probability {ceiling.risk:g}"
        rows.append(
            ["linear, almost surely", "", why, f"≤ {percent_up(ceiling.probably_at_most / n_samples)}"]
        )
    return rows


def percent_up(value: float) -> str:
    """Rounded up: a bound must stay one."""
    return f"{math.ceil(10_000 * value - 1e-9) / 100:.2f}"


def _depth_table(record: Record) -> str:
    settings = best_settings(record)
    depths = sorted({net_of(s.config).depth for s in settings if net_of(s.config).norm != "linear"})
    if not depths:
        return ""
    by_method: dict[tuple[str, int | None], dict[int, Setting]] = {}
    for s in settings:
        if net_of(s.config).norm != "linear":
            by_method.setdefault(norm_of(s), {})[net_of(s.config).depth] = s
    rows = [
        [title(*key), *(_mean_and_deviation(by_depth.get(depth)) for depth in depths)]
        for key, by_depth in by_method.items()
    ]
    return "By depth, each at its best setting:\n\n" + markdown_table(
        ["method", *(f"depth {depth}" for depth in depths)], rows
    )


def _mean_and_deviation(setting: Setting | None) -> str:
    if setting is None:
        return ""
    if setting.mean is None:
        return "diverged"
    spread = "" if setting.deviation is None else f" ± {_percent(setting.deviation)}"
    return _percent(setting.mean) + spread


def _provenance(record: Record) -> str:
    words = []
    if record.ceiling is not None and record.ceiling.lssr is not None:
        lower, upper = record.ceiling.lssr
        value = f"= {lower:.6f}" if f"{lower:.6f}" == f"{upper:.6f}" else f"in [{lower}, {upper}]"
        words.append(f"LSSR of samples and labels {value}, exactly enclosed.")
    if record.certified is not None:
        net = record.certified
        words.append(
            f"The certified net: {net.method}, {net.arithmetic} parameters, proved at {net.precision} bits, "
            f"SHA-256 {net.net_sha256[:16]}…"
            + (f"; {net.n_contradictory} samples equal one of another label" if net.n_contradictory else "")
            + "."
        )
    return provenance(record, *words)


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
    return csv_of(_COLUMNS, (row for record in records for row in _csv_rows(record)))


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
    best = {method(setting.config) for setting in best_depths(settings)}
    for setting in settings:
        c, net = setting.config, net_of(setting.config)
        target = reported_accuracy(data.name, net.norm) if method(c) in best else None
        rows.append({
            **common, "kind": "trained", "norm": net.norm, "num_groups": net.num_groups, "depth": net.depth,
            "width": net.width, "optimizer": c.optimizer.name, "lr": c.optimizer.lr,
            "batch_size": c.batch_size, "epochs": c.epochs, "n": len(setting.values),
            "n_diverged": setting.n_diverged, "mean": setting.mean, "sd": setting.deviation,
            **({} if net.norm == "linear" else _reported_columns(record, net.norm, setting.mean, target)),
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
        built = record.certified
        note = f"{built.method}; {built.n_parameters} parameters; proved for {built.n_samples} samples"
        rows.append({
            **common, "kind": "certified", "norm": "ln" if built.depth else "linear",
            "depth": built.depth, "width": built.width, "n": 1, "mean": built.accuracy, "note": note,
        })  # fmt: skip
    return rows


PAGE = Page(heading, markdown, csv_text, figure)
