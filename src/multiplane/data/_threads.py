"""Work ahead of whoever asks for it: reading, unpacking and parsing while others learn.

Both functions are generators that give what a plain loop would give, in the same order. Errors come
where the plain loop would raise them. Whoever stops asking early closes the generator, and with it
its threads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Any, TypeVar, cast

S = TypeVar("S")
T = TypeVar("T")

_PATIENCE = 0.1  # seconds between looks at whether anybody still wants more
_FAREWELL = 5.0  # seconds to wait for a thread that may be waiting for a pipe


def mapped(work: Callable[[S], T], items: Iterable[S], n_threads: int) -> Iterator[T]:
    """``map(work, items)`` with some threads, one item a thread ahead."""
    waiting: deque[Future[T]] = deque()
    pool = ThreadPoolExecutor(n_threads, thread_name_prefix="multiplane-read")
    try:
        for item, error in _with_error(items):
            if error is None:
                waiting.append(pool.submit(work, cast(S, item)))
            while waiting and (error is not None or len(waiting) > n_threads):
                yield waiting.popleft().result()
            if error is not None:
                raise error
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        _close(items)


def _with_error(items: Iterable[S]) -> Iterator[tuple[S, None] | tuple[None, Exception]]:
    """The items, and at the end the error that ended them, if one did."""
    try:
        for item in items:
            yield item, None
    except Exception as error:
        yield None, error


def prefetched(items: Iterable[T], n_ahead: int = 2) -> Iterator[T]:
    """The items, taken by another thread a little ahead."""
    queue: Queue[tuple[str, Any]] = Queue(n_ahead)
    unwanted = Event()

    def put(message: tuple[str, Any]) -> bool:
        while not unwanted.is_set():
            try:
                queue.put(message, timeout=_PATIENCE)
                return True
            except Full:
                pass
        return False

    def take() -> None:
        try:
            for item in items:
                if not put(("item", item)):
                    return
            put(("end", None))
        except BaseException as error:
            put(("error", error))
        finally:
            _close(items)

    thread = Thread(target=take, name="multiplane-prefetch", daemon=True)
    thread.start()
    try:
        while True:
            try:
                kind, value = queue.get(timeout=_PATIENCE)
            except Empty:  # lets Ctrl-C through
                continue
            if kind == "end":
                return
            if kind == "error":
                raise value
            yield value
    finally:
        unwanted.set()
        thread.join(_FAREWELL)


def _close(items: Any) -> None:
    """A generator may have threads of its own."""
    if hasattr(items, "close"):
        items.close()
