"""Tables: known records give known numbers; what is no comparison is not called one."""

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from lntheory.errors import InvalidInputError
from tests.tolerances import MEAN_OF_METRICS
from tests.training.test_record import CERTIFIED, NO_CEILING, config, record, run
from training import cli
from training.run.config import RunConfig, varied
from training.run.record import Run, read_record, read_records, write_record
from training.tables import page_of, random_labels, reported, write_tables
from training.tables.methods import best_depths, best_settings, linear_bound, method, norm_of, stand_in

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "training"
COMMITTED = ROOT / "training" / "records"


def one(correct, of=10, **fields):
    """A run of one epoch."""
    return run(1, (correct,), (1.0,), of=of, **{"norm": "ln", **fields})


def diverged(**fields):
    return run(1, (), (), diverged=True, **{"norm": "ln", **fields})


GRID = (
    one(2, norm="linear", optimizer="sgd", lr=0.1), one(3, norm="linear", optimizer="sgd", lr=0.1, seed=1),
    one(1, norm="linear", optimizer="adam"), one(4, norm="linear", optimizer="adam", seed=1),
    one(3, norm="bn"), one(4, norm="bn", seed=1),
    one(9, lr=0.1), one(1, lr=0.1, seed=1),
    one(5, lr=0.2), one(7, lr=0.2, seed=1),
    one(10, lr=0.3), diverged(lr=0.3, seed=1),
    one(6, lr=0.2, depth=2), one(6, lr=0.2, depth=2, seed=1),
    one(8, norm="ln-g", num_groups=4), one(9, norm="ln-g", num_groups=4, seed=1),
    one(2, norm="ln-g", num_groups=128), one(2, norm="ln-g", num_groups=128, seed=1),
)  # fmt: skip


def row(text, name):
    """The cells of a row of the first table of the markdown."""
    line = next(line for line in text.splitlines() if line.startswith(f"| {name} "))
    return [cell.strip() for cell in line.strip("|").split("|")]


# ----------------------------------------------------------------------------------------------- selection


def test_the_best_setting_is_that_of_the_best_mean():
    """Not of the best run (9 and 10 of 10 belong to others), and before any that diverged."""
    best = {method(setting.config): setting for setting in best_settings(record(*GRID))}
    chosen = best["ln", None, 1]
    assert (chosen.config.optimizer.lr, chosen.values, chosen.n_diverged) == (0.2, (0.5, 0.7), 0)
    assert chosen.mean == pytest.approx(0.6, abs=MEAN_OF_METRICS)
    assert chosen.deviation == pytest.approx(0.02**0.5, abs=MEAN_OF_METRICS)


def test_of_depths_the_best_and_of_ties_the_shallower():
    best = {norm_of(setting): setting for setting in best_depths(best_settings(record(*GRID)))}
    assert method(best["ln", None].config)[2] == 1  # 0.6 both
    assert list(best) == [("linear", None), ("bn", None), ("ln", None), ("ln-g", 4), ("ln-g", 128)]


def test_the_order_of_the_runs_does_not_matter():
    assert random_labels.markdown(record(*GRID)) == random_labels.markdown(record(*reversed(GRID)))


def test_the_linear_bound_is_the_best_single_run():
    assert linear_bound(record(*GRID)) == 0.4
    assert linear_bound(record(*GRID, one(5, norm="none", depth=3))) == 0.5
    assert linear_bound(record(one(3))) is None


def test_runs_that_differ_in_anything_else_are_no_seeds_of_one_setting():
    settings = best_settings(record(one(3, width=64), one(4, width=128, seed=1)))
    assert [setting.values for setting in settings] == [(0.4,)]
    assert settings[0].deviation is None


def test_a_method_of_which_all_runs_diverged_is_shown_as_such():
    text = random_labels.markdown(record(one(3, norm="linear"), diverged(lr=0.1), diverged(lr=0.2)))
    assert row(text, "LN-Net")[3] == "all runs diverged"
    partly = random_labels.markdown(record(one(3, lr=0.1), diverged(lr=0.1, seed=1)))
    assert row(partly, "LN-Net")[3] == "30.00 (1 more diverged)"


# ------------------------------------------------------------------------------------------------ markdown


def test_the_table_of_a_known_record():
    text = random_labels.markdown(record(*GRID))
    assert row(text, "linear") == ["linear", "0", "adam, lr 0.001, batch 128", "25.00", "21.21", "2",
                                   "", "", "", ""]  # fmt: skip
    assert row(text, "LN-Net") == ["LN-Net", "1", "adam, lr 0.2, batch 128", "60.00", "14.14", "2", "+20.00",
                                   "55.85", "19.44", "other data"]  # fmt: skip
    assert row(text, "BN-Net")[3:7] == ["35.00", "7.07", "2", "-5.00"]
    assert row(text, "linear bound, found")[3:] == ["40.00", "", "4", "", "18.51", "15.38", "other data"]
    assert row(text, "linear, proved")[3] == "≤ 80.00"
    assert row(text, "linear, almost surely")[3] == "≤ 90.00"
    assert row(text, "width-3 LN-Net, certified")[1:4] == [
        "4", "built, not trained; 99 parameters; 1 s to build, 0 s to prove", "90.00",
    ]  # fmt: skip
    assert "LSSR of samples and labels in [0.25, 0.5]" in text
    assert "python -m training random-labels" in text


def test_proofs_of_less_are_not_compared_with_all():
    part = CERTIFIED.replaced(n_samples=5, depth=0)
    text = random_labels.markdown(record(*GRID, certified=part, ceiling=NO_CEILING))
    cells = row(text, "linear, certified")
    assert cells[2].startswith("first 5 samples: ")
    assert cells[3:7] == ["80.00", "", "", ""]
    assert row(text, "linear, proved")[2:4] == [
        "no set was found that linear classifiers cannot get right", "≤ 100.00",
    ]  # fmt: skip
    assert "almost surely" not in text
    assert "LSSR of" not in text


def test_by_depth():
    text = random_labels.markdown(record(*GRID))
    by_depth = text[text.index("By depth") :]
    assert row(by_depth, "LN-Net") == ["LN-Net", "60.00 ± 14.14", "60.00 ± 0.00"]
    assert row(by_depth, "LN-G, 128 groups") == ["LN-G, 128 groups", "20.00 ± 0.00", ""]


def test_bounds_are_rounded_up():
    assert random_labels.percent_up(2 / 3) == "66.67"
    assert random_labels.percent_up(0.987482) == "98.75"
    assert random_labels.percent_up(0.5) == "50.00"


def test_reported_values_never_stand_without_their_words():
    for text in (random_labels.markdown(record(*GRID)), random_labels.markdown(full("mnist", 60_000))):
        assert text.count("reported, not verified against the PDF") >= 2


@pytest.mark.parametrize(("data", "norm", "percent"), [
    ("cifar10", "linear", 18.51), ("cifar10", "ln", 55.85),
    ("mnist", "linear", 15.38), ("mnist", "ln", 19.44),
])  # fmt: skip
def test_what_is_reported_and_nothing_else(data, norm, percent):
    assert reported.reported_accuracy(data, norm) == percent
    assert len(reported.REPORTED) == 4


# -------------------------------------------------------------------------------------------------- stand-in


def full(data, n_samples, n_shown=None):
    """A record of genuine data, half of them right."""
    n_shown = n_shown or n_samples
    runs = [one(n_shown // 2, n_shown, data=data, norm=norm) for norm in ("linear", "ln")]
    return record(*runs, data=data, embedded=False, n_samples=n_shown)


@pytest.mark.parametrize(("data", "n_samples", "gap"), [("mnist", 60_000, 30.56), ("cifar10", 50_000, -5.85)])
def test_the_gap_is_ours_minus_the_reported_of_the_same_data(data, n_samples, gap):
    whole = full(data, n_samples)
    assert stand_in(whole) is None
    text = random_labels.markdown(whole)
    assert row(text, "LN-Net")[-1] == f"{gap:+.2f}"
    assert "not the paper's" not in text


@pytest.mark.parametrize(
    "other",
    [
        record(*GRID),
        full("fashion-mnist", 60_000),
        full("mnist", 60_000, 5000),
        full("synthetic-cifar", 50_000),
    ],
)
def test_other_data_are_called_that_everywhere(other):
    why = stand_in(other)
    assert why
    text = random_labels.markdown(other)
    assert why in text.splitlines()[0]
    assert text.count(why) == 2
    assert {row(text, name)[-1] for name in ("LN-Net", "linear bound, found")} == {"other data"}
    lines = list(csv.DictReader(io.StringIO(random_labels.csv_text([other]))))
    assert {line["stand_in"] for line in lines} == {why}
    assert {line["gap"] for line in lines} == {""}
    assert why in page_of("random-labels").figure(other).get_suptitle()


# -------------------------------------------------------------------------------------------------- verdicts


def verdict(word, *runs):
    (line,) = (line for line in random_labels.verdicts(record(*runs, ceiling=None)) if word in line)
    return "**yes**" in line


def test_verdicts_are_given_with_their_numbers():
    ln, bn, groups, _ = random_labels.verdicts(record(*GRID))
    assert "**yes** (60.00 % at depth 1 against 40.00 %)" in ln
    assert "**yes** (35.00 % at depth 1 against 40.00 %)" in bn
    assert "**yes** (best with 4 groups of 64 neurons; by number of groups 1: 60.00 %, 4: 85.00 %" in groups


def test_verdicts_can_be_no():
    linear = one(5, norm="linear")
    assert verdict("LN-Net exceeds", linear, one(6))
    assert not verdict("LN-Net exceeds", linear, one(5))
    assert not verdict("LN-Net exceeds", linear, one(6), one(7, norm="bn"))  # linear once trained
    assert verdict("BN-Net", linear, one(5, norm="bn"))
    assert not verdict("BN-Net", linear, one(6, norm="bn"))
    assert "too low" in random_labels.verdicts(record(linear, one(6, norm="bn")))[0]

    def grouped(groups, correct):
        return one(correct, norm="ln-g", num_groups=groups)

    assert verdict("LN-G", linear, one(5), grouped(32, 8), grouped(128, 4))
    assert not verdict("LN-G", linear, one(5), grouped(32, 8), grouped(128, 9))
    assert not verdict("LN-G", linear, one(9), grouped(32, 8), grouped(128, 4))
    assert "not tried" in random_labels.verdicts(record(linear, one(5), grouped(32, 8)))[-1]


def test_nets_above_what_is_proved_are_named():
    """Of ten samples with two conflicts no linear classifier has nine right."""
    linear = one(5, norm="linear")
    (line,) = random_labels.verdicts(record(linear, one(9, norm="ln-g", num_groups=4)))
    assert line == "Above what is proved of every linear classifier (≤ 80.00 %): LN-G, 4 groups (90.00 %)"
    assert not random_labels.verdicts(record(linear, one(8, norm="ln-g", num_groups=4)))
    assert not random_labels.verdicts(record(linear, one(9, norm="ln-g", num_groups=4), ceiling=None))


def test_without_a_linear_run_nothing_is_claimed():
    assert random_labels.verdicts(record(one(9))) == [
        "No linear run finished, so nothing can be compared with the linear bound."
    ]


# --------------------------------------------------------------------------------------------------- files


def test_the_csv_has_every_method_and_bound():
    lines = list(csv.DictReader(io.StringIO(random_labels.csv_text([record(*GRID)]))))
    kinds = [line["kind"] for line in lines]
    assert kinds == ["trained"] * 6 + ["linear bound, found", "bound", "bound", "certified"]
    ln = next(line for line in lines if (line["norm"], line["depth"]) == ("ln", "1"))
    assert (ln["mean"], ln["n"], ln["lr"], ln["linear_bound"]) == ("0.6", "2", "0.2", "0.4")
    mnist = list(csv.DictReader(io.StringIO(random_labels.csv_text([full("mnist", 60_000)]))))
    assert [line["reported"] for line in mnist][:3] == ["", "0.1944", "0.1538"]
    assert mnist[1]["note"] == reported.NOTE


def test_the_same_records_give_the_same_bytes(tmp_path):
    records = [record(*GRID), full("mnist", 60_000)]
    first = write_tables(records, tmp_path / "a")
    second = write_tables(records, tmp_path / "b")
    assert [path.name for path in first] == [
        "random-labels.md", "random-labels.csv", "random-labels-digits-quick.png",
        "random-labels-mnist-quick.png",
    ]  # fmt: skip
    for one_file, other in zip(first, second, strict=True):
        assert one_file.read_bytes() == other.read_bytes()


def test_no_records_no_table(tmp_path):
    with pytest.raises(InvalidInputError, match="no records"):
        write_tables([], tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_the_figure_shows_every_method_and_the_bound():
    drawn = page_of("random-labels").figure(record(*GRID))
    by_depth, by_groups, by_epoch = drawn.axes
    shown = {text.get_text() for text in by_depth.get_legend().get_texts()}
    assert {
        "BN-Net",
        "LN-Net",
        "LN-G, 4 groups",
        "LN-G, 128 groups",
        "linear bound, found",
        "chance",
    } == shown
    assert [label.get_text().split()[0] for label in by_groups.get_xticklabels()] == ["1", "4", "128"]
    assert "linear" in {text.get_text() for text in by_epoch.get_legend().get_texts()}
    assert [line.get_ydata()[0] for line in by_depth.lines if line.get_label() == "linear bound, found"] == [
        40.0
    ]


def test_a_record_of_one_net_can_be_drawn():
    assert len(page_of("random-labels").figure(record(one(3, norm="linear"))).axes) == 3


def test_tables_need_no_torch(tmp_path):
    write_record(record(*GRID), tmp_path / "a.json")
    code = (
        "import sys\n"
        "from training.cli import main\n"
        f"code = main(['tables', {str(tmp_path / 'a.json')!r}, '--out', {str(tmp_path / 'out')!r}])\n"
        "sys.exit(code or 'torch' in sys.modules or 'lightning' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "LN-G, 128 groups" in done.stdout
    assert len(list((tmp_path / "out").iterdir())) == 3


# ------------------------------------------------------------------------------------------------ the page


def test_the_committed_tables_are_what_the_records_say(tmp_path):
    """`python -m training tables --out docs/training` makes them."""
    written = write_tables(read_records([COMMITTED]), tmp_path)
    assert len(written) > 2
    for path in written:
        shown = DOCS / path.name
        if path.suffix == ".png":  # not to the byte: that is up to the version of matplotlib
            assert shown.stat().st_size > 10_000
        else:
            assert shown.read_text(encoding="utf-8") == path.read_text(encoding="utf-8")
    assert {path.name for path in DOCS.iterdir()} == {path.name for path in written}


@pytest.mark.parametrize("path", sorted(COMMITTED.glob("*.json")), ids=lambda path: path.stem)
def test_a_committed_record_has_its_own_name_and_command(path):
    committed = read_record(path)
    assert path.stem == committed.name
    options = committed.command.removeprefix("python -m training ").split()
    assert options[0] == committed.experiment
    wanted = dict(zip(options[1::2], options[2::2], strict=True))
    assert wanted.get("--data", "digits") == committed.data.name
    assert int(wanted.get("--epochs", committed.runs[0].config.epochs)) == committed.runs[0].config.epochs


def test_links_of_the_page_lead_somewhere():
    page = (DOCS.parent / "training.md").read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#:]+)\)", page)
    assert targets
    for target in targets:
        assert (DOCS.parent / target).exists(), target


def test_the_page_names_every_field_of_a_record(tmp_path):
    page = (DOCS.parent / "training.md").read_text(encoding="utf-8")
    write_record(record(*GRID), tmp_path / "a.json")
    for name in json.loads((tmp_path / "a.json").read_text()):
        assert f"`{name}`" in page, name


def test_the_page_names_every_option():
    page = (DOCS.parent / "training.md").read_text(encoding="utf-8")
    command = typer.main.get_command(cli.app).commands["random-labels"]
    for parameter in command.params:
        assert parameter.opts[0] in page, parameter.opts


# ------------------------------------------------------------------------------------- the general page


def other(seed, lr, losses, metric="test_loss"):
    """A run of an experiment that has no page of its own."""
    own = varied(config(label_seed=None, seed=seed, lr=lr, epochs=2), {"optimizer.lr": lr})
    return Run(config=own, diverged=False, seconds=1.0, epochs={metric: losses})


def test_an_experiment_without_a_page_gets_the_general_one(tmp_path):
    runs = [other(0, 0.1, (3.0, 2.0)), other(1, 0.1, (3.0, 4.0)), other(0, 0.2, (9.0, 8.0))]
    labels = {"seed": None, "sha256": "0" * 64}
    one_record = record(*runs, experiment="anything", labels=labels, ceiling=None, certified=None)
    text = page_of("anything").section(one_record)
    assert row(text, "ln x 1") == ["ln x 1", "adam, lr 0.1, batch 128", "3", "1.414", "2", "0"]
    names = [path.name for path in write_tables([one_record], tmp_path)]
    assert names == ["anything.md", "anything.csv", "anything-digits-quick.png"]
    (line,) = csv.DictReader(io.StringIO((tmp_path / "anything.csv").read_text()))
    assert (line["metric"], line["mean"], line["n"]) == ("test_loss", "3.0", "2")


def test_the_random_label_page_is_of_its_own_nets():
    data = {"name": "digits", "label_seed": 0}
    own = Run(config=RunConfig(data=data, epochs=1), diverged=True, seconds=1.0, epochs={})
    with pytest.raises(InvalidInputError, match="own net"):
        random_labels.markdown(record(own))
