"""Vowpal Wabbit and LIBLINEAR as the paper used them: rows lie in memory, reading is not timed.

Both have one thread, and their time is the processor's, which a busy machine does not change.

pip install vowpalwabbit liblinear-official
"""

from __future__ import annotations

import math
import multiprocessing
import signal
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

Run = tuple[float, float]  # test error in percent, processor seconds of training


def liblinear(data: tuple[Any, ...], options: str, ready: Callable[[], Any]) -> Run:
    """With an intercept, which has a penalty as LIBLINEAR will have it."""
    from liblinear.liblinearutil import parameter, predict, problem, train

    X, y, X_test, y_test = data
    rows = problem(y.astype(np.float64), sp.csr_matrix(X, dtype=np.float64), bias=1)
    ready()
    start = time.process_time()
    model = train(rows, parameter(f"{options} -B 1 -q"))
    seconds = time.process_time() - start
    labels, *_ = predict([], sp.csr_matrix(X_test, dtype=np.float64), model, "-q")
    return _error(np.asarray(labels), y_test), seconds


def vowpal_wabbit(
    data: tuple[Any, ...], options: str, passes: int, ready: Callable[[], Any]
) -> list[Run]:
    """One against all, after each pass; rows are shuffled once, for they may lie by class."""
    from vowpalwabbit import Workspace

    X, y, X_test, y_test = data
    classes, codes = np.unique(y, return_inverse=True)
    order = np.random.RandomState(0).permutation(len(codes))
    learner = Workspace(f"--oaa {len(classes)} --quiet {options}")
    train = [learner.parse(line) for line in _lines(X[order], codes[order])]
    test = [learner.parse(line) for line in _lines(X_test, np.zeros(len(y_test), dtype=int))]
    ready()
    runs, seconds = [], 0.0
    for _ in range(passes):
        start = time.process_time()
        for example in train:
            learner.learn(example)
        seconds += time.process_time() - start
        labels = np.array([learner.predict(example) for example in test]) - 1
        runs.append((_error(classes[labels], y_test), seconds))
    for example in train + test:
        learner.finish_example(example)
    learner.finish()
    return runs


def _lines(X: Any, codes: Any) -> list[str]:
    """Rows as VW reads them: class | column:value …, classes from 1."""
    X, lines = sp.csr_matrix(X), []
    for code, low, high in zip(codes, X.indptr[:-1], X.indptr[1:], strict=True):
        pairs = np.empty(2 * (high - low), dtype=object)
        pairs[::2], pairs[1::2] = X.indices[low:high], X.data[low:high]
        lines.append(f"{code + 1} | " + "%d:%.8g " * (high - low) % tuple(pairs))
    return lines


def _error(labels: Any, y: Any) -> float:
    return 100 * float(np.mean(labels != y))


# --- a limit ------------------------------------------------------------------------------------


def limited(seconds: int, function: Callable[..., Any], *arguments: Any) -> Any:
    """function(*arguments, ready) in a process of its own; None if it takes longer.

    The seconds are of the processor, from where the function says that it is ready. Compiled loops
    listen to nothing but the end of their process. 0 is no limit, and no process.
    """
    if not seconds:
        return function(*arguments, lambda: None)
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(sender, seconds, function, arguments))
    process.start()
    sender.close()
    try:
        answer = receiver.recv()
    except EOFError:
        process.join()
        if process.exitcode != -signal.SIGXCPU:
            raise RuntimeError(
                f"{function.__name__} ended with exit code {process.exitcode} instead of an "
                "answer; was there too little memory?"
            ) from None
        return None
    process.join()
    if isinstance(answer, Exception):
        raise answer
    return answer


def _answer(
    sender: Any, seconds: int, function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    import resource  # not on Windows

    def ready() -> None:
        most = math.ceil(time.process_time()) + seconds
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))

    try:
        sender.send(function(*arguments, ready))
    except Exception as error:
        sender.send(error)
