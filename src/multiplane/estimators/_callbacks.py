"""scikit-learn's callbacks (1.9 and later), or as much of them as older versions need.

The fallback speaks the same protocol: `set_callbacks` takes objects with `setup`,
`on_fit_task_begin`, `on_fit_task_end` and `teardown`, and a true value from `on_fit_task_end`
stops the training.
"""

from __future__ import annotations

import copy
import functools
import inspect
import uuid
from collections.abc import Callable
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackContext:
        """A task of an estimator: its place in the tree of tasks, and calls to the callbacks."""

        def __init__(
            self,
            estimator: Any,
            task_name: str,
            task_id: int,
            max_subtasks: int | None,
            parent: CallbackContext | None = None,
        ) -> None:
            self.estimator_name = type(estimator).__name__
            self.task_name, self.task_id, self.max_subtasks = task_name, task_id, max_subtasks
            self.parent = parent
            self.root_uuid: uuid.UUID = parent.root_uuid if parent else uuid.uuid4()
            self.sequential_subtasks = True
            self.source_estimator_name = self.source_task_name = None
            self._estimator, self._n_children = estimator, 0

        def subcontext(self, task_name: str = "", max_subtasks: int | None = 0) -> CallbackContext:
            self._n_children += 1
            return CallbackContext(
                self._estimator, task_name, self._n_children - 1, max_subtasks, self
            )

        def call_on_fit_task_begin(self, **arguments: Any) -> CallbackContext:
            self._call("on_fit_task_begin", arguments)
            return self

        def call_on_fit_task_end(self, **arguments: Any) -> bool:
            return self._call("on_fit_task_end", arguments)

        def _call(self, hook: str, arguments: dict[str, Any]) -> bool:
            """A hook gets what its signature asks for; what is expensive is made only then."""
            estimator = arguments.pop("estimator")
            stop = False
            for callback in getattr(estimator, "_skl_callbacks", []):
                method = getattr(callback, hook)
                wanted = {}
                for name, parameter in inspect.signature(method).parameters.items():
                    if parameter.kind is not parameter.KEYWORD_ONLY:
                        continue
                    if name == "fitted_estimator":
                        wanted[name] = _fitted(estimator, arguments["reconstruction_attributes"])
                    else:
                        wanted[name] = arguments.get(name)
                stop |= bool(method(estimator, self, **wanted))
            return stop

    def _fitted(estimator: Any, attributes: Callable[[], dict[str, Any]]) -> Any:
        fitted = copy.copy(estimator)
        for name, value in attributes().items():
            setattr(fitted, name, value)
        return fitted

    class CallbackSupportMixin:  # type: ignore[no-redef]
        def set_callbacks(self, *callbacks: Any) -> Any:
            """Attach callbacks; without any, detach them all."""
            hooks = ("setup", "teardown", "on_fit_task_begin", "on_fit_task_end")
            for callback in callbacks:
                if isinstance(callback, type) or not all(hasattr(callback, h) for h in hooks):
                    raise TypeError(f"a callback needs the methods {', '.join(hooks)}")
            self._skl_callbacks = list(callbacks)
            return self

        def _init_callback_context(
            self, task_name: str = "fit", task_id: int = 0, max_subtasks: int | None = 0
        ) -> CallbackContext:
            self._callback_fit_ctx = CallbackContext(self, task_name, task_id, max_subtasks)
            for callback in getattr(self, "_skl_callbacks", []):
                callback.setup(estimator=self, context=self._callback_fit_ctx)
            return self._callback_fit_ctx

    def with_callbacks(method: Any) -> Any:
        @functools.wraps(method)
        def managed(estimator: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return method(estimator, *args, **kwargs)
            finally:
                context = estimator.__dict__.pop("_callback_fit_ctx", None)
                if context is not None:
                    for callback in getattr(estimator, "_skl_callbacks", []):
                        callback.teardown(estimator=estimator, context=context)

        return managed


__all__ = ["CallbackSupportMixin", "with_callbacks"]
