"""VC dimension: bounds, witnesses, certified records, what `shatters` may say."""

import math
import shutil
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lntheory import exact, vc
from lntheory.errors import InvalidInputError


@pytest.mark.parametrize(
    ("depth", "dim", "n_samples"),
    [
        (1, 1, 3),
        (2, 1, 5),
        (3, 1, 9),
        (1, 2, 6),
        (1, 3, 6),
        (1, 7, 8),
        (0, 1, 2),
        (0, 4, 5),
    ],
)
def test_lower_bound_is_certified_over_every_labeling(
    tmp_path: Path, depth: int, dim: int, n_samples: int
) -> None:
    """4L + 1 points (d >= 2), 4L - 3 on a line, six at one layer, all that affine classifiers shatter."""
    proof = vc.build_lower_bound(depth, dim, path=tmp_path / "r.json.gz")
    assert proof.n_samples == vc.lower_bound(depth, dim) == n_samples
    assert (proof.depth, proof.dim, proof.n_nets) == (depth, dim, 2 ** (proof.n_samples - 1))
    assert proof.deepest <= depth
    assert [p.name for p in tmp_path.iterdir()] == ["r.json.gz"]


@pytest.mark.parametrize(("depth", "dim"), [(1, 2), (2, 2), (2, 5)])
def test_two_pairs_a_layer_shatter_four_points_a_layer_and_one(tmp_path: Path, depth: int, dim: int) -> None:
    proof = vc.build_lower_bound(depth, dim, path=tmp_path / "r.json.gz", n_samples=4 * depth + 1)
    assert (proof.n_samples, proof.depth) == (4 * depth + 1, depth)


@pytest.mark.parametrize("dim", [2, 3])
def test_two_layers_fit_thirteen_points(dim: int) -> None:
    """A sample of the labelings of which the claim vc-dimension-two-layers proves all."""
    points = vc.witness(13, dim, 2)
    assert vc.lower_bound(2, dim) == 13
    assert not vc.in_convex_position(points[:, :2])
    for number in np.random.default_rng(dim).integers(1, 2**12, 12).tolist():
        assert vc.net_of_labeling(points, 2, number, 0) is not None


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_papers_bound_is_certified(tmp_path: Path, depth: int) -> None:
    proof = vc.build_lower_bound(
        depth, 2, path=tmp_path / "r.json.gz", n_samples=vc.paper_lower_bound(depth), random_state=1
    )
    assert proof.n_samples == depth + 2


@given(st.integers(0, 40), st.integers(1, 50))
def test_bounds_are_ordered(depth: int, dim: int) -> None:
    assert vc.lower_bound(depth, dim) <= vc.upper_bound(depth, dim)
    assert vc.lower_bound(depth, dim) <= vc.lower_bound(depth + 1, dim)
    assert vc.upper_bound(depth, dim) <= vc.upper_bound(depth + 1, dim)
    assert vc.upper_bound(depth, dim) <= vc.upper_bound(depth, dim + 1)
    if depth >= 1:
        assert vc.paper_lower_bound(depth) <= vc.lower_bound(depth, dim)


@given(st.integers(1, 12), st.integers(1, 12))
def test_counting_bound_is_the_last_sample_number_that_counting_allows(depth: int, dim: int) -> None:
    """2^m <= 2 (4 e D m 3^L / P)^P, decided here with rational bounds of e."""
    parameters = 2 * dim + 4 * depth - 2

    def allowed(m: int, e: Fraction) -> bool:
        base = 4 * e * (depth + 1) * 2**depth * m * 3**depth / parameters
        return 2 ** (m - 1) <= base**parameters

    low, high = Fraction(2718281828, 10**9), Fraction(2718281829, 10**9)
    bound = vc.counting_bound(depth, dim)
    assert allowed(bound, low)
    assert not allowed(bound + 1, high)
    assert not allowed(2 * bound, high)


def test_upper_bound_at_depth_zero_is_the_vc_dimension_of_affine_classifiers() -> None:
    assert [vc.upper_bound(0, d) for d in (1, 2, 9)] == [2, 3, 10]
    assert [vc.lower_bound(0, d) for d in (1, 2, 9)] == [2, 3, 10]


@given(st.integers(1, 3000), st.integers(1, 20))
def test_least_depth_is_the_first_that_counting_allows(n_samples: int, dim: int) -> None:
    depth = vc.least_depth(n_samples, dim)
    assert vc.upper_bound(depth, dim) >= n_samples
    assert depth == 0 or vc.upper_bound(depth - 1, dim) < n_samples


@pytest.mark.parametrize("n_samples", [1, 2, 5, 13, 17, 20])
def test_witness_sets_are_distinct_and_convex(n_samples: int) -> None:
    line, plane = vc.witness(n_samples, 1), vc.witness(n_samples, 3)
    assert (np.diff(line[:, 0]) > 0).all()
    assert len(np.unique(plane, axis=0)) == n_samples
    if n_samples >= 3:
        assert vc.in_convex_position(plane[:, :2])


def test_convex_position_is_decided_exactly() -> None:
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    assert vc.in_convex_position(square)
    on_an_edge = np.array([0.5, 0.0])
    assert not vc.in_convex_position(np.vstack([square, on_an_edge]))
    outside = np.array([0.5, -(2.0**-1000)])
    assert vc.in_convex_position(np.vstack([square, outside]))
    assert not vc.in_convex_position(np.vstack([square, -outside + [1.0, 0.0]]))


def test_record_does_not_depend_on_the_number_of_workers_or_on_interruption(
    tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(vc, "CHUNK", 8)
    vc.build_lower_bound(2, 2, path=tmp_path / "one.gz", n_samples=7, n_jobs=1)
    vc.build_lower_bound(2, 2, path=tmp_path / "two.gz", n_samples=7, n_jobs=2)

    def interrupt(done: int, total: int) -> None:
        if done >= 24:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        vc.build_lower_bound(2, 2, path=tmp_path / "three.gz", n_samples=7, progress=interrupt)
    assert not (tmp_path / "three.gz").exists()
    (parts,) = tmp_path.glob("three.gz.*.parts")
    kept = {p.name: p.stat().st_mtime_ns for p in parts.iterdir()}
    assert len(kept) >= 3
    seen: list[int] = []
    vc.build_lower_bound(
        2, 2, path=tmp_path / "three.gz", n_samples=7, progress=lambda done, total: seen.append(done)
    )
    assert seen[0] == 8 * len(kept)
    assert seen[-1] == 64
    contents = {(tmp_path / f"{name}.gz").read_bytes() for name in ("one", "two", "three")}
    assert len(contents) == 1
    assert not list(tmp_path.glob("*.parts"))


def test_parts_of_another_seed_are_not_taken_up(tmp_path: Path) -> None:
    def interrupt(done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        vc.build_lower_bound(1, 2, path=tmp_path / "r.gz", random_state=7, progress=interrupt)
    first: list[int] = []
    vc.build_lower_bound(
        1, 2, path=tmp_path / "r.gz", random_state=8, progress=lambda done, _: first.append(done)
    )
    assert first[0] == 0


def test_labelings_that_were_not_built_are_an_error_and_leave_no_record(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"no net of depth 0 was built for labels \[") as caught:
        vc.build_lower_bound(0, 2, path=tmp_path / "r.gz", n_samples=4)
    assert "fewer points" in str(caught.value)
    assert not (tmp_path / "r.gz").exists()
    shutil.rmtree(next(iter(tmp_path.iterdir())), ignore_errors=True)


def test_shatters_saves_a_record_that_is_proved_afresh(tmp_path: Path) -> None:
    found = vc.shatters([[0.0], [1.0], [2.5]], 1)
    assert found.shattered
    assert found.missing == ()
    assert found.verdict.startswith("shattered at depth 1: 4 nets certified")
    found.save(tmp_path / "r.gz")
    assert exact.verify_shattering(tmp_path / "r.gz").n_samples == 3


def test_shatters_never_claims_impossibility_without_a_proof() -> None:
    # Depth 1 and six points of a circle in space: counting allows them, and convexity argues in the plane.
    found = vc.shatters(vc.witness(6, 3), 1)
    assert not found.shattered
    assert found.impossible is None
    assert "does not prove" in found.verdict
    assert (1, 0, 1, 0, 1, 0) in found.missing
    with pytest.raises(InvalidInputError, match="only a shattered set"):
        found.save("nowhere")


def test_shatters_says_which_proof_of_impossibility_it_has() -> None:
    assert "affine classifiers" in vc.shatters([[0, 0], [1, 0], [0, 1], [1, 1.5]], 0).verdict
    six = vc.witness(6, 2)
    found = vc.shatters(six, 1)
    assert "alternate around 6 points in convex position need 2 layers" in found.verdict
    assert (0, 1, 0, 1, 0, 1) in {w if w[0] == 0 else tuple(1 - b for b in w) for w in found.missing}


@pytest.mark.parametrize("n_samples", range(4, 40))
def test_halving_bound_is_the_logarithm(n_samples: int) -> None:
    claimed = math.ceil(math.log2(n_samples // 2))
    points = vc.witness(n_samples, 2)
    assert vc.why_impossible(points, claimed) is None
    if claimed >= 2:
        reason = "orientations" if n_samples > 6 and claimed == 2 else f"need {claimed} layers"
        assert reason in (vc.why_impossible(points, claimed - 1) or "")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vc.lower_bound(-1, 2), "depth=-1"),
        (lambda: vc.upper_bound(True, 2), "depth=True"),
        (lambda: vc.upper_bound(1, 0), "dim=0"),
        (lambda: vc.paper_lower_bound(0), "depth=0"),
        (lambda: vc.least_depth(0, 2), "n_samples=0"),
        (lambda: vc.witness(0, 2), "n_samples=0"),
        (lambda: vc.shatters([[0.0, 0.0], [-0.0, 0.0]], 1), "point 1 equals"),
        (lambda: vc.shatters(np.zeros((21, 2)), 1), "21 points"),
        (lambda: vc.shatters([[np.nan]], 1), "nan"),
    ],
)
def test_bad_arguments_are_named(call, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        call()


def test_progress_counts_labelings() -> None:
    seen: list[tuple[int, int]] = []
    vc.shatters([[0.0], [1.0], [2.5]], 1, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_impossibility_names_number_dimension_and_reason() -> None:
    def verdict(n_samples: int, dim: int, depth: int) -> str | None:
        return vc.why_impossible(vc.witness(n_samples, dim), depth)

    assert verdict(4, 2, 0) == "no 4 points of R^2 are, affine classifiers shatter dim + 1 at most"
    assert verdict(4, 1, 1) == "no 4 points of R^1 are, a score changes sign 2^L times at most"
    assert verdict(6, 1, 2) == "no 6 points of R^1 are, a score changes sign 2^L times at most"
    assert verdict(5, 1, 2) is None
    assert verdict(7, 2, 1) == "no 7 points of R^2 are, by the orientations of seven points"
    beyond = vc.counting_bound(2, 2) + 1
    assert verdict(beyond, 2, 2) == f"no {beyond} points of R^2 are, by counting sign patterns (Warren)"
    alternating = verdict(16, 2, 2)
    assert alternating is not None
    assert alternating.endswith("need 3 layers, for a layer at best halves the number of runs")


def test_the_record_has_a_telling_name_by_default(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    proof = vc.build_lower_bound(1, 2, 4)
    assert exact.verify_shattering("shattering-L1-d2-m4.json.gz") == proof
    with pytest.raises(InvalidInputError, match="n_samples=0"):
        vc.build_lower_bound(1, 2, 0)
