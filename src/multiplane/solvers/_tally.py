"""Running counts of a learner that sees rows one by one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from multiplane import _native
from multiplane.progress import Event

Learner = _native.Learner | _native.KernelLearner | _native.Projectron


@dataclass
class Tally:
    """Running counts of a learner, from which events are made."""

    created: int = 0
    duplicated: int = 0
    pruned: int = 0
    rows: int = 0
    mistakes: int = 0
    updates: int = 0
    loss: float = 0.0
    weight: float = 0.0
    seconds: float = 0.0

    @property
    def sums(self) -> tuple[float, float]:
        """For the learner to go on from: the same bits, however rows are cut into calls."""
        return self.loss, self.weight

    def add(self, counts: dict[str, Any], seconds: float) -> None:
        """Counts of some more rows, whose sums have gone on from those of before."""
        for name in ("created", "duplicated", "rows", "mistakes", "updates"):
            setattr(self, name, getattr(self, name) + counts[name])
        self.loss, self.weight = counts["loss"], counts["weight"]
        self.seconds += seconds

    def copy(self) -> Tally:
        return replace(self)

    def facts(self, learner: Learner) -> dict[str, Any]:
        if isinstance(learner, _native.KernelLearner):
            return {"support_vectors": len(learner), "degradation": learner.degradation}
        if isinstance(learner, _native.Projectron):
            return {"support_vectors": len(learner)}
        return {
            "hyperplanes": len(learner),
            "created": self.created,
            "duplicated": self.duplicated,
            "pruned": self.pruned,
        }

    def since(self, before: Tally, event: str, n_iter: int, learner: Learner) -> Event:
        """What happened since `before`; counts are totals since the learner was born."""
        rows = max(1, self.rows - before.rows)
        weight = self.weight - before.weight
        own = self.facts(learner)
        met = {  # on the rows since `before`, each judged when it was met
            "error": (self.mistakes - before.mistakes) / rows,
            "loss": (self.loss - before.loss) / weight if weight > 0 else 0.0,
            "updates": (self.updates - before.updates) / rows,
        }
        name, number = next(iter(own.items()))
        words = (
            f"error {100 * met['error']:.2f} %  updates {100 * met['updates']:.1f} %  "
            f"{name.replace('_', ' ')} {number}"
        )
        return Event(event, n_iter, {"t": learner.t} | own | met, self.seconds, words)
