"""Links: how scores become predictions, g = ∇Φ with Φ convex ([LS] eq. 12).

A link of your own is an object with the same four members as `Softmax`:

    value(S)   Φ of each row of scores S (n, k), shape (n,)
    link(S)    g(S) = ∇Φ(S), shape (n, k)
    L          a Lipschitz constant of g (eq. 16): smaller is faster, too small may diverge
    mu         how strongly monotone g is (eq. 17), 0 if it is not; may be left out

It should use the Array API's functions alone (``xp = array_namespace(S)``) if it is to run on
other arrays than NumPy's.

[LS] is Agarwal, Kakade, Karampatziakis, Song and Valiant, "Least squares revisited: scalable
approaches for multi-class prediction", ICML 2014.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from multiplane._arrays import Place, chunks


class Link(Protocol):
    """What a solver needs of a link; `mu` is looked for and may be absent."""

    @property
    def L(self) -> float: ...  # noqa: N802 (the paper's name)
    def value(self, S: Any) -> Any: ...
    def link(self, S: Any) -> Any: ...


@dataclass(frozen=True)
class Identity:
    """Φ(u) = ½‖u‖², g(u) = u: least squares, done in one step."""

    L: float = 1.0
    mu: float = 1.0

    def value(self, S: Any) -> Any:
        return 0.5 * Place.of(S).xp.sum(S * S, axis=1)

    def link(self, S: Any) -> Any:
        return S


@dataclass(frozen=True)
class Softmax:
    """Φ(u) = log Σ exp u: multinomial logistic regression.

    L = ½ is the least Lipschitz constant ([LS] footnote 3); the paper's experiments used 1.
    """

    L: float = 0.5
    mu: float = 0.0

    def value(self, S: Any) -> Any:
        xp = Place.of(S).xp
        top = xp.max(S, axis=1, keepdims=True)
        return top[:, 0] + xp.log(xp.sum(xp.exp(S - top), axis=1))

    def link(self, S: Any) -> Any:
        xp = Place.of(S).xp
        E = xp.exp(S - xp.max(S, axis=1, keepdims=True))
        return E / xp.sum(E, axis=1, keepdims=True)


@dataclass(frozen=True)
class Logistic:
    """Φ(u) = Σ log(1 + exp uⱼ): a logistic regression for each label of its own."""

    L: float = 0.25
    mu: float = 0.0

    def value(self, S: Any) -> Any:
        xp = Place.of(S).xp
        zero = xp.zeros_like(S)
        softplus = xp.maximum(S, zero) + xp.log1p(xp.exp(-xp.abs(S)))
        return xp.sum(softplus, axis=1)

    def link(self, S: Any) -> Any:
        xp = Place.of(S).xp
        small = xp.exp(-xp.abs(S))
        return xp.where(S >= 0, 1 / (1 + small), small / (1 + small))


def probabilities(by: Any, S: Any) -> Any:
    """Of scores (n, k), by a link or by a projection."""
    link = by.link if hasattr(by, "link") else by
    size = max(512, 2**18 // S.shape[1])  # projections sort and sum: several copies
    parts = [link(S[part, :]) for part in chunks(S.shape[0], size)]
    return parts[0] if len(parts) == 1 else Place.of(S).xp.concat(parts)


def project_simplex(V: Any) -> Any:
    """The nearest probability vector to each row, in the Euclidean sense (Duchi et al. 2008)."""
    place = Place.of(V)
    xp, k = place.xp, V.shape[1]
    V = V - xp.max(V, axis=1, keepdims=True)  # the same answer; and 1 is not lost beside it
    falling = -xp.sort(-V, axis=1)
    excess = xp.cumulative_sum(falling, axis=1) - 1  # above 1 if the first j entries are kept
    count = place.put(np.arange(1, k + 1), V.dtype)
    kept = xp.sum(xp.astype(falling * count > excess, xp.int64), axis=1)  # how many stay positive
    last = xp.astype(place.put(np.arange(k)) == (kept - 1)[:, None], V.dtype)
    theta = xp.sum(last * excess, axis=1) / xp.astype(kept, V.dtype)
    return xp.maximum(V - theta[:, None], xp.zeros_like(V))


def project_cube(V: Any) -> Any:
    """The nearest point with all coordinates from 0 to 1: for several labels a row."""
    return Place.of(V).xp.clip(V, 0, 1)
