"""One ordered map, run by the calling thread, several threads, processes, or a Dask cluster.

::

    items ──► function ──► results, in the order of the items
    1 2 3 4      │          f(1) f(2) f(3) f(4)
                 ├── "threads"     shared memory; for compiled code that releases the interpreter's lock
                 ├── "processes"   function, items and results are pickled
                 └── "dask"        processes on several machines, reached by the scheduler's address

The results do not depend on the engine or the number of workers, if each item holds everything that its work
depends on, its seed included.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Literal, Protocol, TypeVar, get_args

from joblib.externals.loky import get_reusable_executor

from lntheory.base.types import Progress
from lntheory.base.validation import as_count
from lntheory.errors import InvalidInputError, MissingDependencyError, excerpt

__all__ = ["Engine", "OrderedMap", "n_workers", "parallel_map", "workers"]

Engine = Literal["threads", "processes", "dask"]
T = TypeVar("T")
R = TypeVar("R")


class OrderedMap(Protocol):
    """Like the built-in ``map`` of one iterable: an iterator of the results, in order."""

    def __call__(self, function: Callable[[T], R], items: Iterable[T], /) -> Iterator[R]:
        """Yield ``function(item)`` for each item."""
        ...


def n_workers(n_jobs: int | None) -> int:
    """The number of workers that `n_jobs` asks for: `n_jobs` itself, or one for each core if -1 or None.

    Raises
    ------
    InvalidInputError
        If `n_jobs` is neither a whole number from 1 on, nor -1, nor None.

    Examples
    --------
    >>> n_workers(3), n_workers(-1) == n_workers(None) >= 1
    (3, True)
    """
    if n_jobs is None or n_jobs == -1:
        return os.cpu_count() or 1
    return as_count(n_jobs, "n_jobs", 1)


@contextmanager
def workers(
    n_jobs: int | None = 1, *, engine: Engine = "processes", scheduler: str | None = None
) -> Iterator[OrderedMap]:
    """Workers that stay while the block lasts, as a map that may be called again and again.

    Parameters
    ----------
    n_jobs : int, default 1
        The number of workers; -1 or None means one for each core. With 1 worker, everything runs in the
        calling thread, unless the engine is "dask".
    engine : {"threads", "processes", "dask"}
    scheduler : str, optional
        Address of the Dask scheduler, such as ``tcp://host:8786``; None starts a cluster on this machine.
        For "dask" only.

    Raises
    ------
    InvalidInputError
        If the engine is unknown, `n_jobs` is no number of workers, a scheduler is given for an engine that
        has none, or the scheduler cannot be reached.
    MissingDependencyError
        If "dask" is asked for and not installed.

    Examples
    --------
    >>> with workers(2, engine="threads") as ordered_map:
    ...     list(ordered_map(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    if engine not in get_args(Engine):
        raise InvalidInputError(f"engine {excerpt(engine)}; choose one of {', '.join(get_args(Engine))}")
    if scheduler is not None and engine != "dask":
        raise InvalidInputError(f"scheduler={scheduler!r} is for engine='dask'; leave it out for {engine!r}")
    count = n_workers(n_jobs)
    if engine == "dask":
        with _dask_map(count, scheduler) as ordered_map:
            yield ordered_map
    elif count == 1:
        yield _in_this_thread
    elif engine == "threads":
        with ThreadPoolExecutor(count) as pool:
            yield pool.map
    else:  # the processes stay for the next call, since starting them takes a second
        yield get_reusable_executor(count, timeout=300, env=_shared_cores(count)).map


def _in_this_thread(function: Callable[[T], R], items: Iterable[T], /) -> Iterator[R]:
    for item in items:  # not `map`, which a StopIteration of the function would end without a word
        yield function(item)


def _shared_cores(count: int) -> dict[str, str]:
    """BLAS threads for each of `count` processes, so that all of them together are no more than the cores."""
    return {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", str(max(1, n_workers(-1) // count)))}


def parallel_map(
    function: Callable[[T], R],
    items: Iterable[T],
    *,
    n_jobs: int | None = 1,
    engine: Engine = "processes",
    scheduler: str | None = None,
    progress: Progress | None = None,
    total: int | None = None,
) -> Iterator[R]:
    """Yield ``function(item)`` for every item, in order, each as soon as it is available.

    Parameters
    ----------
    function : callable of one argument
        For "processes" and "dask" it must be picklable: a function defined at the top of a module, or a
        `functools.partial` of one.
    items : iterable
    n_jobs, engine, scheduler
        As in `workers`.
    progress : callable, optional
        Called as ``progress(done, total)`` after every item.
    total : int, optional
        Number of items; needed where `items` has no length and `progress` is given.

    Raises
    ------
    InvalidInputError, MissingDependencyError
        As in `workers`.
    Exception
        The first exception, in the order of the items, that `function` raises; work not yet begun is dropped.

    Examples
    --------
    >>> list(parallel_map(abs, [-1, 2, -3], n_jobs=2, engine="threads"))
    [1, 2, 3]
    """
    if progress is not None and total is None:
        total = len(items)  # type: ignore[arg-type]
    with workers(n_jobs, engine=engine, scheduler=scheduler) as ordered_map:
        for done, result in enumerate(ordered_map(function, items), 1):
            yield result
            if progress is not None:
                progress(done, total or 0)


@contextmanager
def _dask_map(count: int, scheduler: str | None) -> Iterator[OrderedMap]:
    try:
        from distributed import Client
    except ModuleNotFoundError:
        raise MissingDependencyError("engine='dask' needs dask; pip install 'lntheory[cluster]'") from None

    # If a worker dies, Dask itself gives its work to another one.
    own = {} if scheduler else {"n_workers": count, "threads_per_worker": 1, "dashboard_address": None}
    try:
        client = Client(scheduler, **own)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"scheduler={scheduler!r} cannot be reached ({error})") from None

    def ordered_map(function: Callable[[T], R], items: Iterable[T], /) -> Iterator[R]:
        futures = client.map(function, list(items), pure=False)
        try:
            for future in futures:
                yield future.result()
        finally:
            client.cancel(futures)  # type: ignore[no-untyped-call]

    with client:
        yield ordered_map
