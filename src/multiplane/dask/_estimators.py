"""The classifiers, trained and asked on a Dask cluster."""

from __future__ import annotations

import copy
import inspect
import os
from functools import wraps
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from distributed import Client, default_client
from sklearn.base import BaseEstimator

from multiplane.dask._engine import DaskEngine
from multiplane.dask._inputs import (
    Files,
    is_collection,
    is_delayed,
    is_files,
    is_frame,
    parts_of,
    rows_of,
)
from multiplane.dask._lazy import Lazy, scored
from multiplane.estimators import _hyperplanes as hyperplanes
from multiplane.estimators import _kernels as kernels
from multiplane.estimators import _least_squares as least_squares
from multiplane.estimators import _multiplane as multiplane
from multiplane.persistence._rounds import Rounds

T = TypeVar("T", bound="type[DaskClassifier]")

_PARAMETERS = """    client : distributed.Client or None, default=None
        The cluster; None: the client made last. It is not part of copies and files.
    checkpoint : path or None, default=None
        A folder, where the state of the training is kept after each round; a `fit` with the same
        parameters goes on from there. Removed when the training is complete.
"""
_MIXING = """    mixing : {"mean", "sum", "chain"} or None, default=None
        How what the partitions have learnt in a round becomes one model. "mean": of those that
        moved a hyperplane; for few, long rounds. "sum": as one machine would learn, but that its
        scores are a round old; needs many short rounds at first. "chain": rows are exchanged
        between the partitions once, so that each is a mixture of all, and then a round is of one
        partition, in turn: as accurate as one machine, and one worker learns at a time. None:
        "sum" for `GAMMClassifier`, "chain" for `MultiplaneClassifier`, "mean" for the others. In
        place of "mean" and "sum" kernel machines have a rule of their own.
    rounds : int or None, default=None
        Rounds of the first pass; with "mean" of all passes, with "sum" fewer and fewer, as
        ``rounds`` divided by the number of the pass; with "chain" of each partition in a pass. More
        are more accurate, and each costs sending the model there and back. None: 2048 for "sum";
        128 for "mean", and for `MultiplaneClassifier` fewer, down to 8, where there are not 500,000
        rows; for "chain" one, and more where pruning wants it or partitions are fewer than 8.
"""


class DaskClassifier:
    """What the classes of this module add to the plain ones."""

    _plain: ClassVar[Any]
    _more: ClassVar[dict[str, str]] = {"client": "", "checkpoint": _PARAMETERS}  # and their words

    client: Client | None
    checkpoint: str | os.PathLike[str] | None
    warm_start: bool

    if TYPE_CHECKING:  # the parameters of the plain class by name: `_on_dask`

        def __init__(
            self,
            *args: Any,
            client: Client | None = None,
            checkpoint: str | os.PathLike[str] | None = None,
            **parameters: Any,
        ) -> None: ...

    # --- training --------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
    ) -> Self:
        """Learn from rows that stay where they are.

        Parameters
        ----------
        X : Dask array, Dask data frame, delayed objects, files, or an array
            A partition is what one worker learns from at a time; it must fit into its memory.

            - A Dask array with dense or CSR blocks; chunks of unknown size are welcome.
            - A Dask data frame of numbers.
            - A list of delayed objects or futures: arrays, or tuples ``(X, y)`` or ``(X, y,
              sample_weight)``.
            - A path, a pattern, a list of paths, or `Files`: read by the workers, labels included.
            - Anything else that the plain class takes is cut into a partition for each thread of
              the cluster, and sent there.
        y, sample_weight : of the same kind as X, optional
            With the partitions of X; arrays are cut to them.
        X_val, y_val : arrays, optional
            Validation data, in the client's memory.

        Returns
        -------
        self
            After an error it is as it was before. After Ctrl-C it is fitted with what was learnt
            so far, if anything, as the plain class is.
        """
        if self.warm_start:
            raise ValueError(
                "warm_start=True is not for training on a cluster; a training that was broken off "
                "goes on with checkpoint='folder', and to_local() gives a plain classifier that "
                "has it"
            )
        if is_collection(X_val) or is_delayed(X_val):
            raise TypeError(
                f"X_val must be in the client's memory, got a Dask {type(X_val).__name__}; use "
                f"a sample of it: X_val.compute()"
            )
        local, options = self._local(), self._training_options()
        local._validate_params()
        client = self._client()
        rows = rows_of(client, X, y, sample_weight)
        name = self._plain.__name__.removesuffix("Classifier").lower()
        engine = DaskEngine(client, parts_of(client, rows), name)
        kept = None
        if self.checkpoint is not None:
            kept = Rounds(self.checkpoint, [rows.identity, engine.n_parts, options])
        try:
            local._fit_parts(engine, X_val=X_val, y_val=y_val, checkpoint=kept, **options)
        except KeyboardInterrupt:
            if local.__sklearn_is_fitted__():
                self._take_over(local, rows.names)
            raise
        finally:  # an error holds on to the engine as long as somebody looks at it
            engine.release()
        self._take_over(local, rows.names)
        if kept is not None:
            kept.remove()
        return self

    def _training_options(self) -> dict[str, Any]:
        """Checked: parameters of training on a cluster, beside those of the plain class."""
        return {}

    def _client(self) -> Client:
        if self.client is not None:
            return _checked(self.client)
        try:
            return _checked(default_client())
        except ValueError:
            raise ValueError(
                f"{type(self).__name__} needs a cluster and there is no client; make one with "
                f"distributed.Client(address), or Client() for the processors of this machine"
            ) from None

    def _take_over(self, local: Any, names: list[str] | None) -> None:
        if names is not None:
            local.feature_names_in_ = np.array(names, dtype=object)
        for name in self._learnt():
            delattr(self, name)
        vars(self).update({k: v for k, v in vars(local).items() if self._is_learnt(k)})

    # --- prediction ------------------------------------------------------------------------

    def predict(self, X: Any) -> Any:
        """Labels.

        Of a Dask array an array, and of a Dask data frame a series with its index: nothing is
        computed before ``compute()``. Of delayed objects and files a list of delayed arrays, one a
        partition. Other rows are answered at once, here.
        """
        return self._answer("predict", X)

    def decision_function(self, X: Any) -> Any:
        """Score of each class, as the plain class has it, of rows as in `predict`.

        Of a Dask data frame a data frame with a column for each class; for two classes a series.
        """
        return self._answer("decision_function", X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Share of the rows whose labels are predicted; those of files are in the files."""
        if not _is_elsewhere(X):
            return float(self._plain.score(self, X, y, sample_weight))
        local = self.to_local()
        client = self._client()
        if is_frame(X):
            Lazy(local, "predict").of_frame(X)  # the columns are those of the training
        recipes = rows_of(client, self._files(X), y, sample_weight).recipes()
        pairs = np.array(client.gather(client.compute(scored(local, recipes))))
        right, total = pairs.sum(axis=0) if len(pairs) else (0.0, 0.0)
        if not total:
            raise ValueError("there are no rows to score, or all of their weights are zero")
        return float(right / total)

    def _answer(self, method: str, X: Any) -> Any:
        if not _is_elsewhere(X):
            return getattr(self._plain, method)(self, X)
        lazy = Lazy(self.to_local(), method)
        if is_collection(X):
            return lazy.of_frame(X) if is_frame(X) else lazy.of_array(X)
        client = self._client() if is_files(X) else None
        return lazy.of_recipes(rows_of(client, self._files(X)).recipes())

    def _files(self, X: Any) -> Any:
        """Files whose columns are those of the training."""
        names = getattr(self, "feature_names_in_", None)
        if not is_files(X) or names is None:
            return X
        files = X if isinstance(X, Files) else Files(X)
        options = {"columns": tuple(names), **(files.options or {})}
        return Files(files.paths, files.blocksize, options)

    # --- from and to plain ones ------------------------------------------------------------

    def to_local(self) -> Any:
        """The plain classifier of this name in `multiplane`, with all that was learnt."""
        local = self._local()
        vars(local).update(copy.deepcopy({name: vars(self)[name] for name in self._learnt()}))
        return local

    @classmethod
    def from_local(
        cls,
        local: Any,
        client: Client | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """One that predicts as a plain classifier does, on Dask collections too."""
        if type(local) is not cls._plain:
            raise TypeError(
                f"from_local needs a plain multiplane.{cls._plain.__name__}, got {type(local)}"
            )
        made = cls(**local.get_params(deep=False))
        made.client, made.checkpoint = client, checkpoint
        learnt = {k: v for k, v in vars(local).items() if k not in made._own_parameters()}
        vars(made).update(copy.deepcopy(learnt))
        return made

    def _local(self) -> Any:
        """A plain one that has learnt nothing."""
        local = self._plain(
            **{name: getattr(self, name) for name in self._plain._get_param_names()}
        )
        if "_skl_callbacks" in vars(self):
            local._skl_callbacks = vars(self)["_skl_callbacks"]
        return local

    def _own_parameters(self) -> set[str]:
        return {*self._plain._get_param_names(), *self._more, "_skl_callbacks"}

    def _learnt(self) -> list[str]:
        return [name for name in vars(self) if self._is_learnt(name)]

    def _is_learnt(self, name: str) -> bool:
        # What scikit-learn leaves for the time of a fit is not ours.
        passing = name.startswith(("_callback", "_parent", "_skl"))
        return not passing and name not in self._own_parameters()

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {**state, "client": None}

    def __sklearn_clone__(self) -> Any:
        made = BaseEstimator.__sklearn_clone__(copy.copy(self))  # a client cannot be copied
        made.client = self.client
        return made


class _Stream(DaskClassifier):
    _more: ClassVar[dict[str, str]] = {**DaskClassifier._more, "mixing": "", "rounds": _MIXING}

    mixing: str | None
    rounds: int | None

    def _training_options(self) -> dict[str, Any]:
        if self.mixing not in (None, "mean", "sum", "chain"):
            raise ValueError(f"mixing must be 'mean', 'sum', 'chain' or None, got {self.mixing!r}")
        if self.rounds is not None and (not isinstance(self.rounds, Integral) or self.rounds < 1):
            raise ValueError(f"rounds must be a whole number above 0 or None, got {self.rounds!r}")
        # Which one is meant is part of a checkpoint, whose rounds are of that kind.
        return {"mixing": self.mixing or self._plain._mixing_rule, "rounds": self.rounds}

    def partial_fit(self, X: Any, y: Any, *args: Any, **options: Any) -> Any:
        """Not on a cluster: a stream has one order. `to_local` gives a classifier that can."""
        raise NotImplementedError(
            "partial_fit learns one row after the other and cannot be spread over a cluster; use "
            "fit, or to_local().partial_fit"
        )

    def fit_stream(self, source: Any, *args: Any, **options: Any) -> Any:
        """Not on a cluster: `fit` reads files there."""
        raise NotImplementedError(
            "fit_stream learns from one stream in one place; fit('day-*.parquet') lets the workers "
            "read the files, and to_local().fit_stream reads them here"
        )


class _Hyperplanes(_Stream):
    def apply(self, X: Any) -> Any:
        """Which hyperplane decided: a row number of ``coef_``; rows and answers as in `predict`."""
        return self._answer("apply", X)


class _LeastSquares(DaskClassifier):
    def predict_proba(self, X: Any) -> Any:
        """Probability of each class; rows and answers as in `decision_function`."""
        return self._answer("predict_proba", X)

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of `predict_proba`."""
        return self._answer("predict_log_proba", X)


def _checked(client: Any) -> Client:
    if not isinstance(client, Client):
        raise TypeError(f"client must be a distributed.Client, got {client!r}")
    if client.asynchronous or client.status != "running":
        state = "asynchronous" if client.asynchronous else client.status
        raise ValueError(f"client must be a running, synchronous Client, and this one is {state}")
    return client


def _is_elsewhere(X: Any) -> bool:
    return is_collection(X) or is_delayed(X) or is_files(X)


def _on_dask(cls: T) -> T:
    """Give a class the signature and the documentation of the plain one, and the client."""
    plain = next(base for base in cls.__mro__[1:] if base.__name__ == cls.__name__)
    cls._plain = plain

    @wraps(plain.__init__)  # type: ignore[misc]
    def initialize(self: Any, *args: Any, **parameters: Any) -> None:
        more = {name: parameters.pop(name, None) for name in cls._more}
        plain.__init__(self, *args, **parameters)  # type: ignore[misc]
        vars(self).update(more)

    own = inspect.signature(plain.__init__)  # type: ignore[misc]
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in cls._more
    ]
    signature = own.replace(parameters=[*own.parameters.values(), *more])
    vars(initialize)["__signature__"] = signature  # where scikit-learn looks for parameters
    cls.__init__ = initialize  # type: ignore[method-assign]
    summary, _, rest = (plain.__doc__ or "").partition("\n")
    rest, _, _ = rest.partition("    Examples\n    --------\n")
    rule = "    Parameters\n    ----------\n"
    words = "".join(cls._more.values())
    cls.__doc__ = f"On a Dask cluster: {summary}\n{rest.replace(rule, rule + words, 1)}"
    return cls


@_on_dask
class PegasosClassifier(_Hyperplanes, hyperplanes.PegasosClassifier): ...


@_on_dask
class MMClassifier(_Hyperplanes, hyperplanes.MMClassifier): ...


@_on_dask
class AMMClassifier(_Hyperplanes, hyperplanes.AMMClassifier): ...


@_on_dask
class GAMMClassifier(_Hyperplanes, hyperplanes.GAMMClassifier): ...


@_on_dask
class MultiplaneClassifier(_Hyperplanes, multiplane.MultiplaneClassifier): ...


@_on_dask
class BudgetedPegasosClassifier(_Stream, kernels.BudgetedPegasosClassifier): ...


@_on_dask
class GeneralizedLeastSquaresClassifier(
    _LeastSquares, least_squares.GeneralizedLeastSquaresClassifier
): ...


@_on_dask
class CalibratedLeastSquaresClassifier(
    _LeastSquares, least_squares.CalibratedLeastSquaresClassifier
): ...


@_on_dask
class StagewiseLeastSquaresClassifier(
    _LeastSquares, least_squares.StagewiseLeastSquaresClassifier
): ...
