"""One map: the same results in the same order, whatever does the work."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from lntheory.base.parallel import Engine, n_workers, parallel_map, workers
from lntheory.errors import InvalidInputError

ENGINES: tuple[Engine, ...] = ("threads", "processes")


def drawn(seed: int) -> float:
    """Later items are done sooner."""
    time.sleep(0.02 if seed == 0 else 0)
    return float(np.random.default_rng(seed).normal())


def failing(item: int) -> int:
    if item == 3:
        raise InvalidInputError("item 3")
    return item


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_results_and_their_order_do_not_depend_on_the_workers(engine: Engine, n_jobs: int) -> None:
    counted: list[tuple[int, int]] = []
    results = parallel_map(
        drawn, range(6), n_jobs=n_jobs, engine=engine, progress=lambda *count: counted.append(count)
    )
    assert list(results) == [drawn(seed) for seed in range(6)]
    assert counted == [(done, 6) for done in range(1, 7)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_first_error_is_raised_in_its_place(engine: Engine, n_jobs: int) -> None:
    results = parallel_map(failing, range(1000), n_jobs=n_jobs, engine=engine)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(InvalidInputError, match="item 3"):
        next(results)


def stopping(item: int) -> int:
    return next(iter(())) if item == 1 else item


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_function_that_stops_iteration_ends_nothing_without_a_word(engine: Engine, n_jobs: int) -> None:
    with pytest.raises(RuntimeError):
        list(parallel_map(stopping, range(3), n_jobs=n_jobs, engine=engine))


@pytest.mark.parametrize("engine", ENGINES)
def test_workers_are_used_again_and_may_be_left_early(engine: Engine) -> None:
    with workers(2, engine=engine) as ordered_map:
        first = ordered_map(drawn, range(100))
        assert next(first) == drawn(0)
        first.close() if hasattr(first, "close") else None
        assert list(ordered_map(abs, [-1, -2])) == [1, 2]


def test_a_cluster_gives_the_same_results() -> None:
    pytest.importorskip("distributed", reason="dask is not installed")
    script = """
        from tests.base.test_parallel import drawn, failing
        from lntheory.base.parallel import parallel_map

        if __name__ == "__main__":
            results = parallel_map(drawn, range(6), n_jobs=2, engine="dask")
            assert list(results) == [drawn(seed) for seed in range(6)]
            try:
                list(parallel_map(failing, range(6), n_jobs=1, engine="dask"))
            except ValueError as error:
                print(error)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stdout == "item 3\n", done.stderr


def test_what_makes_no_sense_is_refused() -> None:
    for n_jobs in (0, -2, 1.5, True):
        with pytest.raises(InvalidInputError, match="n_jobs"):
            n_workers(n_jobs)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="engine"):
        next(parallel_map(abs, [1], engine="ray"))  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="scheduler"):
        next(parallel_map(abs, [1], scheduler="tcp://127.0.0.1:1"))
