"""Ctrl-C and a cluster's SIGTERM, held back until the state is whole."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Interruption", "deferred_interruption"]


class Interruption:
    """Whether a signal has come; `check` raises it where the caller can bear it."""

    def __init__(self) -> None:
        self._received: int | None = None

    def receive(self, number: int, _frame: FrameType | None = None) -> None:
        """Note the signal; a second Ctrl-C does not wait."""
        if self._received == number == signal.SIGINT:
            raise KeyboardInterrupt
        self._received = number

    def check(self) -> None:
        """Raise what the signal stands for: KeyboardInterrupt, or SystemExit for SIGTERM."""
        if self._received == signal.SIGINT:
            raise KeyboardInterrupt
        if self._received is not None:
            raise SystemExit(128 + self._received)


@contextmanager
def deferred_interruption() -> Iterator[Interruption]:
    """Hold back SIGINT and SIGTERM inside the block; outside the main thread, where none arrives, do nothing.

    Examples
    --------
    >>> try:
    ...     with deferred_interruption() as interruption:
    ...         interruption.receive(signal.SIGINT)
    ...         print("the step goes on to its end")
    ...         interruption.check()
    ... except KeyboardInterrupt:
    ...     print("and then Ctrl-C is heard")
    the step goes on to its end
    and then Ctrl-C is heard
    """
    interruption = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield interruption
        return
    # What is ignored (under nohup, say) stays ignored.
    numbers = [n for n in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(n) != signal.SIG_IGN]
    before = {number: signal.signal(number, interruption.receive) for number in numbers}
    try:
        yield interruption
        interruption.check()  # one that came after the last check must not get lost
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
