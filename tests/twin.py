"""The learner of native/learner.cpp again: one row at a time, in NumPy and float64.

With U = λ(t−1) W a step is U[right] += w x, U[rival] −= w x; see learner.hpp for the paper's terms.
On integer-valued data both float32 and float64 are exact, so native and twin must be equal.
"""

import numpy as np

MASK = (1 << 64) - 1


def uniform(seed, t):
    """A number in [0, 1) from seed and t alone: splitmix64."""
    x = (seed + t * 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return ((x ^ (x >> 31)) >> 11) * 2.0**-53


class Twin:
    def __init__(self, *, n_features, growth, sharing=0.0, **config):
        self.__dict__.update(config)  # bias, n_classes, lam, adaptive, ball_projection, ...
        self.growth, self.sharing, self.t, self.t0, self.n_ids = growth, sharing, 1, 0, 0
        self.rate = 1.0
        self.owner, self.ids, self.reserved = [], [], {}
        self.U = np.zeros((0, n_features + 1))  # the last column belongs to the constant `bias`
        self.A = np.zeros((0, n_features + 1))  # Σ t³ U⁽ᵗ⁺¹⁾, for the average
        self.A_weight = self.loss = 0.0
        self.updates = self.mistakes = self.created = self.duplicated = 0

    def add(self, owner, id_=None, copy_of=None):
        for name in "UA":
            M = getattr(self, name)
            setattr(self, name, np.vstack([M, 0 * M[0] if copy_of is None else M[copy_of]])
                    if len(M) else np.zeros((1, M.shape[1])))  # fmt: skip
        self.owner.append(owner)
        self.ids.append(self.reserve_id() if id_ is None else id_)
        return len(self.owner) - 1

    def start(self, W, owner, t0):
        """These hyperplanes, as if t0 steps had been made."""
        self.U, self.A = self.lam * t0 * W, np.zeros(W.shape)
        self.owner, self.ids, self.n_ids = list(owner), list(range(len(W))), len(W)
        self.t, self.t0, self.A_weight = t0 + 1, t0, 0.0

    def reserve_id(self):
        self.n_ids += 1
        return self.n_ids - 1

    def reserved_id(self, y):
        """The id of a class's zero hyperplane in reserve, until that comes to life."""
        if y not in self.reserved or self.reserved[y] in self.ids:
            self.reserved[y] = self.reserve_id()
        return self.reserved[y]

    def learn(self, X, y, weight=None, z=None, obey=False):
        """All rows in their order; z, where given, is written or (`obey`) obeyed."""
        for i, x in enumerate(X):
            w = 1.0 if weight is None else float(weight[i])
            lane = self.step(np.append(x, self.bias), y[i], w, z[i] if obey else None)
            if z is not None and not obey:
                z[i] = self.reserve_id() if lane is None else self.ids[lane]

    def step(self, x, y, w, given):
        scores, owner = self.U @ x, np.array(self.owner, dtype=int)
        mine, others = np.flatnonzero(owner == y), np.flatnonzero(owner != y)
        right = mine[np.argmax(scores[mine])] if len(mine) else None
        rival = others[np.argmax(scores[others])] if len(others) else None
        self.mistakes += right is None or (rival is not None and scores[right] <= scores[rival])

        if given is not None:
            right = self.ids.index(given) if given in self.ids else None
        elif self.adaptive and right is not None and scores[right] <= 0:
            right = None  # a zero hyperplane, in reserve, is better
        newborn = None  # the class whose zero hyperplane is the best rival
        if self.adaptive and self.n_classes > 1 and (rival is None or scores[rival] < 0):
            newborn = int(y == 0) if rival is None else self.owner[rival]
        right_score = 0.0 if right is None else scores[right]
        rival_score = 0.0 if rival is None or newborn is not None else scores[rival]
        margin, gap = self.lam * (self.t - 1), rival_score - right_score
        first = not self.adaptive and given is None and right is None  # of its class
        loss = (rival, newborn) != (None, None) and (self.t == 1 or first or margin + gap > 0)
        self.loss += w * (1.0 if self.t == 1 else max(0.0, 1.0 + gap / margin)) if loss else 0.0

        if loss and w > 0 and x.any():
            self.updates += 1
            if right is None:
                right = self.add(y, given)
                self.created += 1
            elif uniform(self.seed, self.t) < self.growth:
                self.add(y, copy_of=right)
                self.growth *= self.growth_decay
                self.duplicated += 1
            if newborn is not None:
                rival = self.add(newborn)
                self.created += 1
            w = w * self.rate
            born = len(self.owner) > len(scores)  # such a class has nobody to share with
            for sign, lane, side in ((w, right, [] if born else mine), (-w, rival, others)):
                self.U += sign * np.outer(self.shares(scores, lane, side), x)
            if self.ball_projection:  # ‖W⁽ᵗ⁺¹⁾‖ ≤ 1/√λ
                self.U *= min(1.0, np.sqrt(self.lam) * self.t / np.linalg.norm(self.U))
        self.A += float(self.t - self.t0) ** 3 * self.U
        self.A_weight += self.lam * float(self.t - self.t0) ** 3 * self.t
        self.t += 1
        return right

    def shares(self, scores, lane, side):
        """How a step is divided: 1 for the winner, less for who is near it on the same side."""
        shares, width = np.zeros(len(self.owner)), self.sharing * self.lam * (self.t - 1)
        shares[lane] = 1.0
        if width > 0 and len(side):
            shares[side] = np.maximum(0.0, 1 - (scores[lane] - scores[side]) / width)
        return shares / shares.sum()

    def keep(self, lanes):
        self.U, self.A = self.U[lanes], self.A[lanes]
        self.owner, self.ids = [self.owner[k] for k in lanes], [self.ids[k] for k in lanes]

    def prune(self, c):
        """Remove the smallest while the norm of all that is removed is at most c; without a
        reserve (MM) a class keeps its last hyperplane."""
        squares, removed, gone = (self.U**2).sum(axis=1), 0.0, []
        for lane in np.argsort(squares, kind="stable"):
            removed += squares[lane]
            if removed > c * c:
                break
            if self.adaptive or sum(self.owner[k] == self.owner[lane] for k in self.but(gone)) > 1:
                gone.append(lane)
            else:
                removed -= squares[lane]
        self.keep(self.but(gone))
        return len(gone)

    def but(self, gone):
        return np.array([k for k in range(len(self.owner)) if k not in gone], dtype=int)

    def W(self):  # noqa: N802 - a matrix
        """W⁽ᵗ⁾, or its average with weights t⁴."""
        return self.A / self.A_weight if self.average else self.U / (self.lam * (self.t - 1))
