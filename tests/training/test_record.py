"""Records: what is written is read back; what is damaged is refused, naming file and field."""

import copy
import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import training
from lntheory.errors import FileFormatError, InvalidInputError
from training.data.labels import RandomLabels
from training.models import MLP
from training.models.parameters import GROUPED
from training.run.config import Data, RunConfig
from training.run.record import (
    Ceiling,
    CertifiedNet,
    DataSource,
    Device,
    LabelSource,
    Record,
    Run,
    read_record,
    read_records,
    write_record,
)
from training.run.result import EpochMetrics, RunResult
from training.run.source import source_sha256

HASH = "0123456789abcdef" * 4
MODEL, OPTIMIZER = ("norm", "num_groups", "width", "depth"), {"optimizer": "name", "lr": "lr"}


def config(data="digits", label_seed=0, **fields):
    """A config by short names; depth 0 for a linear net, two groups for nets with groups."""
    net = {name: fields.pop(name) for name in MODEL if name in fields}
    net.setdefault("depth", 0 if net.get("norm") == "linear" else 1)
    if net.get("norm") in GROUPED:
        net.setdefault("num_groups", 2)
    optimizer = {OPTIMIZER[name]: fields.pop(name) for name in OPTIMIZER if name in fields}
    source = {name: fields.pop(name) for name in ("root", "n_samples") if name in fields}
    return RunConfig(
        data=Data(name=data, label_seed=label_seed, **source), model=MLP(**net), optimizer=optimizer, **fields
    )


def run(n_epochs=2, correct=(3, 5), loss=(2.0, 1.5), *, of=10, diverged=False, seconds=1.0, **fields):
    return Run(config=config(epochs=n_epochs, **fields), diverged=diverged, seconds=seconds,
               epochs={"train_loss": loss, "train_accuracy": {"of": of, "counts": correct}})  # fmt: skip


def record(*runs, data="digits", embedded=True, n_samples=10, **changes):
    fields = {
        "experiment": "random-labels", "preset": "quick", "command": "python -m training random-labels",
        "started": "2026-01-02T03:04:05+00:00", "seconds": 12.5, "versions": {"python": "3.11.7"},
        "device": Device(kind="cpu", name="some processor", threads=1), "source_sha256": HASH,
        "data": DataSource(name=data, origin=f"{data}, by hand", embedded=embedded, sha256=HASH,
                           n_samples=n_samples, n_features=64, n_classes=10),
        "labels": LabelSource(seed=0, sha256=RandomLabels(0).sha256(n_samples)),
        "ceiling": CEILING, "certified": CERTIFIED, "runs": runs or (run(), run(lr=0.5)), **changes,
    }  # fmt: skip
    return Record(**fields)


CEILING = Ceiling(lssr=(0.25, 0.5), n_conflicts=2, n_features=61, risk=1e-6, probably_at_most=9, seconds=0.1)
NO_CEILING = CEILING.replaced(lssr=None, n_conflicts=0, probably_at_most=None)
CERTIFIED = CertifiedNet(
    n_samples=10, n_contradictory=1, method="pairs", depth=4, width=3, n_parameters=99, arithmetic="dyadic",
    precision=128, build_seconds=1.0, certify_seconds=0.5, net_sha256=HASH,
)  # fmt: skip


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.json"


# ------------------------------------------------------------------------------------------- there and back


def test_what_is_written_is_read_back(path):
    written = record(run(), run(lr=0.5, correct=(1,), loss=(7.0,), diverged=True), run(seed=4, depth=3))
    write_record(written, path)
    assert read_record(path) == written


def test_parts_may_be_absent(path):
    for written in (
        record(ceiling=None, certified=None),
        record(ceiling=NO_CEILING),
        record(source_sha256=None),
    ):
        write_record(written, path)
        assert read_record(path) == written


losses = st.floats(0, 1e6).map(lambda value: float(f"{value:.5g}"))


@st.composite
def runs_of_a_grid(draw):
    seeds = draw(st.lists(st.integers(0, 2**40), min_size=1, max_size=5, unique=True))
    n_epochs = draw(st.integers(1, 4))
    result = []
    for seed in seeds:
        diverged = draw(st.booleans())
        length = draw(st.integers(0, n_epochs - 1)) if diverged else n_epochs
        fields = draw(st.sampled_from([
            {"norm": "linear", "depth": 0}, {"norm": "ln-g", "num_groups": 4}, {"lr": 1e-7},
            {"optimizer": "sgd"},
        ]))  # fmt: skip
        counts = st.integers(0, 8 if fields.get("norm") == "linear" else 10)  # there are two conflicts
        metrics = draw(st.lists(st.tuples(losses, counts), min_size=length, max_size=length))
        result.append(
            run(n_epochs, tuple(c for _, c in metrics), tuple(v for v, _ in metrics), diverged=diverged,
                seed=seed, **fields)
        )  # fmt: skip
    return tuple(result)


@given(runs_of_a_grid(), st.text(min_size=1))
def test_any_grid_is_read_back(tmp_path_factory, runs, command):
    path = tmp_path_factory.mktemp("records") / "a.json"
    written = record(*runs, command=command)
    write_record(written, path)
    assert read_record(path) == written


def test_a_grid_is_one_small_file(path):
    runs = [run(60, (1234,) * 60, (2.3026,) * 60, of=60_000, seed=seed) for seed in range(400)]
    write_record(record(*runs, n_samples=60_000), path)
    assert path.stat().st_size < 400 * 1200
    assert len(path.read_text().splitlines()) < 420


def test_where_the_files_lay_is_not_written(path):
    write_record(record(run(root="/home/somebody/mnist")), path)
    assert "somebody" not in path.read_text()


def test_nothing_half_written_is_left(path, monkeypatch):
    write_record(record(), path)
    before = path.read_bytes()
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_record(record(seconds=1.0), path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["a.json"]


def test_a_record_is_a_json_file(tmp_path):
    with pytest.raises(InvalidInputError, match=r"a\.txt.*\*\.json"):
        write_record(record(), tmp_path / "a.txt")


# -------------------------------------------------------------------------------------------------- damage


@pytest.fixture
def value(path):
    """The JSON of a record, to be damaged."""
    write_record(record(), path)
    return json.loads(path.read_text())


def refused(path, value, *words):
    path.write_text(json.dumps(value))
    with pytest.raises(FileFormatError) as caught:
        read_record(path)
    for word in (str(path), *words):
        assert word in str(caught.value)


def places(value, where=()):
    """The path of every value inside."""
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, child in children:
        yield (*where, key)
        yield from places(child, (*where, key))


def parent(value, where):
    for key in where[:-1]:
        value = value[key]
    return value


DEFAULTS = {"ceiling", "certified", "final", "n_test_samples", "processes"}
"""Fields that may be left out, beside those of a config."""


def test_every_field_is_needed_and_none_is_unknown(path, value):
    for where in places(value):
        if isinstance(where[-1], str) and where[0] != "versions" and where[-1] not in DEFAULTS:
            damaged = copy.deepcopy(value)
            del parent(damaged, where)[where[-1]]
            if "config" not in where[:-1] and "epochs" not in where[:-1]:
                refused(path, damaged, where[-1])
    for where in [
        (),
        ("data",),
        ("runs", 0),
        ("ceiling",),
        ("certified",),
        ("device",),
        ("labels",),
        ("config",),
    ]:
        damaged = copy.deepcopy(value)
        parent(damaged, (*where, "more"))["more"] = 1
        refused(path, damaged, "more")


OPTIONAL = {
    ("ceiling",), ("certified",), ("labels", "seed"), ("ceiling", "lssr"), ("ceiling", "probably_at_most"),
    ("config", "data.n_samples"), ("config", "data.root"), ("config", "model.num_groups"),
    ("config", "model.group_size"), ("config", "clip_norm"), ("source_sha256",), ("labels",),
}  # fmt: skip


def complaint(path):
    """What reading says; None if it is content."""
    try:
        read_record(path)
    except FileFormatError as error:
        return str(error)
    return None


@pytest.mark.parametrize("wrong", [None, "seven", -3, 2.5, True, [], {}, ["x"], 10**400])
def test_every_field_has_one_type(path, value, wrong):
    for where in places(value):
        old = parent(value, where)[where[-1]]
        damaged = copy.deepcopy(value)
        parent(damaged, where)[where[-1]] = wrong
        path.write_text(json.dumps(damaged))
        complaint_here = complaint(path)
        if complaint_here is None:
            same = type(old) is type(wrong) or {type(old), type(wrong)} <= {int, float}
            assert same or (where in OPTIONAL and (wrong is None or old is None)), where
        else:
            assert str(path) in complaint_here
            names = [part for key in where if isinstance(key, str) for part in key.split(".")]
            assert any(name in complaint_here for name in names), complaint_here


def test_the_error_names_the_entry(path, value):
    value["runs"][1]["epochs"]["train_accuracy"]["counts"][1] = "many"
    refused(path, value, "runs[1].epochs.train_accuracy", "counts[1]", "'many'")


def test_cut_off_anywhere(path):
    write_record(record(), path)
    whole = path.read_bytes()
    for length in range(0, len(whole) - 2, 97):
        path.write_bytes(whole[:length])
        with pytest.raises(FileFormatError, match=r"a\.json"):
            read_record(path)


@pytest.mark.parametrize("text", ["NaN", "Infinity", "1e999", "[]", '{"format": "something else"}', "\x00"])
def test_what_is_no_record(path, text):
    path.write_text(text)
    with pytest.raises(FileFormatError, match=r"a\.json"):
        read_record(path)


def test_another_version(path, value):
    for version in (1, 3, 0, "2", 2.0, True, None):
        refused(path, {**value, "version": version}, "version")


COUNTS = ("runs", 0, "epochs", "train_accuracy", "counts")


def test_parts_that_contradict_each_other(path, value):
    for where, wrong, word in [
        (("data", "name"), "mnist", "mnist"),
        (("labels", "seed"), 5, "labels.sha256"),
        (("config", "data.label_seed"), 5, "label_seed"),
        (COUNTS, [3, 11], "11, of 10"),
        (COUNTS, [3], "[1, 2]"),
        (("runs", 0, "epochs", "train_accuracy", "of"), 11, "train_accuracy.of: 11"),
        (("runs", 0, "diverged"), True, "diverged"),
        (("config", "epochs"), 3, "a run of 3 that finished"),
        (("config", "data.n_samples"), 7, "n_samples"),
        (("config", "model.width"), -1, "width"),
        (("runs", 0, "config", "optimizer.lr"), 0.5, "runs[1].config: equal to that of runs[0]"),
        (("runs",), [], "runs"),
        (("started",), "yesterday", "started"),
        (("started",), "2026-01-02T03:04:05", "offset"),
        (("data", "sha256"), HASH[:-1] + "g", "data.sha256"),
        (("experiment",), "../../etc", "experiment"),
        (("ceiling", "lssr"), [0.5, 0.25], "ceiling.lssr"),
        (("certified", "n_contradictory"), 10, "n_contradictory"),
    ]:
        damaged = copy.deepcopy(value)
        parent(damaged, where)[where[-1]] = wrong
        refused(path, damaged, word)


LINEAR_RUN = {"norm": "linear", "depth": 0}
DEEP_LINEAR_RUN = {"norm": "none", "depth": 3}


@pytest.mark.parametrize("net", [LINEAR_RUN, DEEP_LINEAR_RUN])
def test_no_linear_run_is_above_what_is_proved(path, net):
    """Of ten samples with two conflicts a linear classifier has eight right at most, in any epoch."""
    write_record(record(run(correct=(8, 8), **net)), path)
    good = json.loads(path.read_text())
    assert complaint(path) is None
    for correct, epoch in ([9, 8], 0), ([8, 9], 1), ([9, 9], 0):
        twin = copy.deepcopy(good)
        parent(twin, COUNTS)["counts"] = correct
        refused(
            path, twin, f"train_accuracy.counts[{epoch}]: 9 samples", "n_conflicts = 2", "8 of 10", "restore"
        )
    diverged = copy.deepcopy(good)
    diverged["runs"][0].update(
        epochs={"train_loss": [1.0], "train_accuracy": {"of": 10, "counts": [9]}}, diverged=True
    )
    refused(path, diverged, "runs[0].epochs.train_accuracy.counts[0]: 9 samples")


def test_the_ceiling_is_of_linear_classifiers_only(path):
    """Not of nets with LN, nor of scores that are rounded to 8 bits; and without a proof there is none."""
    for written in (
        record(run(correct=(9, 10), norm="ln")),
        record(run(correct=(9, 10), precision="bf16-mixed", **LINEAR_RUN)),
        record(run(correct=(9, 10), **LINEAR_RUN), ceiling=None),
    ):
        write_record(written, path)
        assert read_record(path) == written


def test_two_proofs_that_exclude_each_other(path):
    linear = CERTIFIED.replaced(depth=0, width=0, n_contradictory=2)
    write_record(record(certified=linear), path)
    value = json.loads(path.read_text())
    assert complaint(path) is None
    value["certified"]["n_contradictory"] = 1
    refused(path, value, "certified", ": 9,", "ceiling.n_conflicts = 2", "at most 8")


@pytest.mark.parametrize(("where", "good", "wrong", "words"), [
    (("ceiling", "n_conflicts"), 5, 6, "ceiling.n_conflicts: 6"),
    (("ceiling", "n_conflicts"), 5, 11, "ceiling.n_conflicts: 11"),
    (("ceiling", "n_features"), 64, 65, "ceiling.n_features: 65"),
    (("ceiling", "risk"), 1.0, 1.25, "ceiling.risk is 1.25"),
    (("ceiling", "probably_at_most"), 10, 11, "ceiling.probably_at_most: 11, but there are at most 10"),
    (("certified", "n_samples"), 10, 11, "certified.n_samples: 11, but there are at most 10"),
    ((*COUNTS, 0), 10, 11, "counts[0] is 11, of 10"),
])  # fmt: skip
def test_no_number_is_above_what_there_is(path, value, where, good, wrong, words):
    parent(value, where)[where[-1]] = good
    path.write_text(json.dumps(value))
    assert complaint(path) is None
    parent(value, where)[where[-1]] = wrong
    refused(path, value, words)


@pytest.mark.parametrize("where", [
    ("ceiling", "n_conflicts"), ("ceiling", "n_features"), ("ceiling", "risk"),
    ("ceiling", "probably_at_most"), ("certified", "n_samples"), ("certified", "n_contradictory"),
    ("data", "n_samples"), ("data", "n_classes"), (*COUNTS, 0),
])  # fmt: skip
def test_nothing_is_below_zero(path, value, where):
    parent(value, where)[where[-1]] = -1
    refused(path, value, str([key for key in where if isinstance(key, str)][-1]), "-1")


def test_a_record_made_by_hand_is_checked_as_one_that_is_read():
    for changes, words in [
        ({"runs": ({"correct": (3, -1)},)}, "runs"),
        ({"ceiling": CEILING.replaced(n_conflicts=6)}, "n_conflicts: 6"),
        ({"certified": CERTIFIED.replaced(n_samples=11)}, r"certified\.n_samples: 11"),
        ({"labels": LabelSource(seed=0, sha256=HASH)}, r"labels\.sha256"),
    ]:
        with pytest.raises(InvalidInputError, match=words):
            record(**changes)


def test_the_hash_of_the_labels_is_that_of_the_labels(path, value):
    """They are drawn again: from the seed, among the classes, as many as there are samples."""
    true = value["labels"]["sha256"]
    for where, wrong in [
        (("labels", "sha256"), HASH),
        (("labels", "sha256"), RandomLabels(1).sha256(10)),
        (("data", "n_classes"), 9),
        (("data", "n_samples"), 11),
    ]:
        twin = copy.deepcopy(value)
        parent(twin, where)[where[-1]] = wrong
        refused(path, twin, "labels.sha256", twin["labels"]["sha256"], "of seed 0")
    value["labels"]["seed"] = value["config"]["data.label_seed"] = 1
    refused(path, value, "labels.sha256", true, "of seed 1", RandomLabels(1).sha256(10))
    value["labels"]["sha256"] = RandomLabels(1).sha256(10)
    path.write_text(json.dumps(value))
    assert complaint(path) is None


def test_the_hash_of_true_labels_is_taken_as_it_is(path, value):
    """Only the data could tell."""
    value["labels"] = {"seed": None, "sha256": HASH}
    value["config"]["data.label_seed"] = None
    path.write_text(json.dumps(value))
    assert read_record(path).labels == LabelSource(seed=None, sha256=HASH)


def test_labels_are_not_drawn_without_end(path, value):
    value["data"]["n_samples"] = 10**12
    refused(path, value, "data.n_samples", "10000000", "1000000000000")


# ------------------------------------------------------------------------------------- results of trainers


def result(accuracies, *, finished=True, diverged=False):
    metrics = tuple(
        EpochMetrics(k + 1, {"train_loss": 1 / 3, "train_accuracy": accuracy}, 1e-3, 0.1)
        for k, accuracy in enumerate(accuracies)
    )
    return RunResult(config(epochs=3), metrics, diverged, finished, 0.2, {"samples_per_second": 1 / 3})


def test_accuracies_become_counts_exactly():
    parts = [k / 1438 for k in range(0, 1439, 7)]
    kept = Run.of(result(parts), {"train": 1438})
    assert kept.epochs["train_accuracy"].counts == tuple(range(0, 1439, 7))
    assert kept.series("train_accuracy") == tuple(parts)
    assert kept.value("train_accuracy") == parts[-1]
    assert kept.series("train_loss")[0] == 0.33333
    assert kept.value("samples_per_second") == 0.33333
    assert kept.value("test_bleu") is None


def test_results_that_are_none():
    with pytest.raises(InvalidInputError, match="1 epochs are done of a run that has more"):
        Run.of(result([0.5], finished=False), {"train": 10})
    for accuracy in (0.55, -0.1, 1.1, math.nan, math.inf):
        with pytest.raises(
            InvalidInputError, match=f"accuracy {accuracy} in epoch 1 is no number of 10 samples"
        ):
            Run.of(result([accuracy]), {"train": 10})


def test_a_diverged_run_is_kept_as_one():
    kept = Run.of(result([0.5], diverged=True), {"train": 10})
    assert kept.diverged
    assert kept.value("train_accuracy") is None


def test_a_record_holds_any_metric(path):
    """Of a translation, say: no accuracy, no labels, a score that is measured once."""
    own = Run(config=RunConfig(steps=5), diverged=False, seconds=1.0,
              epochs={"train_loss": [3.0], "test_perplexity": [20.5]}, final={"bleu": 35.2})  # fmt: skip
    written = record(own, experiment="translation", labels=None, ceiling=None, certified=None)
    write_record(written, path)
    assert read_record(path) == written
    assert read_record(path).runs[0].value("bleu") == 35.2


def test_the_hash_of_the_program_is_that_of_its_files(tmp_path, monkeypatch):
    from training.run import source

    for name in ("lntheory", "training"):
        (tmp_path / name / "run").mkdir(parents=True)
        (tmp_path / name / "a.py").write_text("1")
    monkeypatch.setattr(source.lntheory, "__file__", str(tmp_path / "lntheory" / "__init__.py"))
    monkeypatch.setattr(source, "__file__", str(tmp_path / "training" / "run" / "source.py"))
    first = source_sha256()
    (tmp_path / "lntheory" / "notes.txt").write_text("no program")
    (tmp_path / "lntheory" / "training").mkdir()
    (tmp_path / "lntheory" / "training" / "a.py").write_text("1")  # as it is installed
    assert source_sha256() == first
    (tmp_path / "training" / "run" / "b.py").write_text("2")
    assert source_sha256() != first


# ----------------------------------------------------------------------------------------------- many files


def test_folders_are_read_in_order_of_names(tmp_path):
    write_record(record(run(data="mnist"), data="mnist"), tmp_path / "1.json")
    write_record(record(run(norm="bn")), tmp_path / "2.json")
    assert [r.name for r in read_records([tmp_path, tmp_path / "1.json"])] == [
        "random-labels-digits-quick",
        "random-labels-mnist-quick",
    ]


def test_a_subset_is_in_the_name():
    assert record(run(n_samples=10)).name == "random-labels-digits-10-quick"


def test_two_records_of_one_name_are_told_apart_from_none(tmp_path):
    with pytest.raises(InvalidInputError, match="no records"):
        read_records([tmp_path])
    write_record(record(), tmp_path / "1.json")
    write_record(record(run(seed=9)), tmp_path / "2.json")
    with pytest.raises(InvalidInputError, match=r"1\.json and .*2\.json"):
        read_records([tmp_path])


def test_the_committed_records_are_whole():
    folder = Path(training.__file__).parent / "records"
    for committed in read_records([folder]):
        assert committed.versions["torch"]
        assert "random-labels" in committed.command
