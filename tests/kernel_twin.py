"""The learner of native/kernel_learner.cpp again: one row at a time, in NumPy and float64.

With U = λ(t−1) W a step appends a support vector with the coefficients +w (its class) and −w (the
best rival); beyond the budget one vector goes, and U is put back into its ball. Where everything is
a whole number both float32 and float64 are exact, and native and twin must be equal.
"""

import numpy as np
from twin import uniform

RIDGE = 1e-6  # of native/inverse.hpp: K + ridge diag(K) is inverted
GRID = np.linspace(-1, 0.5, 301)  # for the h of merging, before it is refined


def kernel(name, X, V, *, gamma, coef0, degree):
    """k(x, v) for all pairs; RBF from the differences, which loses no digits to cancellation."""
    if name == "rbf":
        return np.exp(-gamma * ((X[:, None] - V[None]) ** 2).sum(axis=2))
    dot = X @ V.T
    if name == "linear":
        return dot
    return (gamma * dot + coef0) ** degree if name == "poly" else np.tanh(gamma * dot + coef0)


def merge_cost(h, a, b, c, s):
    """‖Δ‖² of merging at h v_m + (1 − h) v_n, for a = ‖α_m‖², b = α_m·α_n, c = ‖α_n‖², s = γ r²."""
    k_m, k_n = np.exp(-s * (1 - h) ** 2), np.exp(-s * h**2)
    return a * (1 - k_m**2) + c * (1 - k_n**2) + 2 * b * (np.exp(-s) - k_m * k_n)


def best_h(a, b, c, s):
    """The best h in [−1, 1/2] for arrays b, c, s: a grid, then golden section around its best."""
    h = GRID[merge_cost(GRID[:, None], a, b, c, s).argmin(axis=0)]
    low, high = np.maximum(h - 0.005, -1), np.minimum(h + 0.005, 0.5)
    golden = (np.sqrt(5) - 1) / 2
    for _ in range(40):
        left, right = high - golden * (high - low), low + golden * (high - low)
        smaller = merge_cost(left, a, b, c, s) < merge_cost(right, a, b, c, s)
        low, high = np.where(smaller, low, left), np.where(smaller, right, high)
    return (low + high) / 2


class KernelTwin:
    def __init__(self, *, n_features, n_classes, budget, maintenance, lam, seed, average,
                 ball_projection, kernel, gamma, coef0, degree):  # fmt: skip
        self.n_classes, self.lam, self.seed, self.average = n_classes, lam, seed, average
        self.budget, self.maintenance, self.ball_projection = budget, maintenance, ball_projection
        # As the native learner has them.
        parameters = dict(gamma=float(np.float32(gamma)), coef0=float(np.float32(coef0)))
        self.kernel, self.parameters = kernel, parameters | {"degree": degree}
        self.V = np.zeros((0, n_features))
        self.U = np.zeros((0, n_classes))  # coefficients
        self.A = np.zeros((0, n_classes))  # Σ t³ U⁽ᵗ⁺¹⁾, for the average
        self.born, self.t = np.zeros(0, dtype=int), 1
        self.loss = self.degradation = self.A_weight = 0.0
        self.updates = self.mistakes = self.projected = 0  # the last: back into the ball
        self.E = []  # ‖ΔU‖ of every maintenance
        self.drawn = None  # lots drawn by `reduce`
        self.frozen = 0  # so many vectors are not maintained

    def k(self, X, V):
        return kernel(self.kernel, X, V, **self.parameters)

    def learn(self, X, y, weight=None):
        for i, x in enumerate(np.asarray(X, dtype=np.float64)):
            self.step(x, y[i], 1.0 if weight is None else float(weight[i]))

    def step(self, x, y, w):
        f = self.k(x[None], self.V)[0] @ self.U
        others = [c for c in range(self.n_classes) if c != y]
        rival = max(others, key=lambda c: f[c], default=None)  # the first of equals
        gap = 0.0 if rival is None else f[rival] - f[y]
        margin = self.lam * (self.t - 1)
        self.mistakes += rival is not None and gap >= 0
        loss = rival is not None and (self.t == 1 or margin + gap > 0)
        self.loss += w * (1.0 if self.t == 1 else 1.0 + gap / margin) if loss else 0.0
        if loss and w > 0 and self.k(x[None], x[None]) != 0:
            self.updates += 1
            self.append(x, w * ((np.arange(self.n_classes) == y) * 1.0
                                - (np.arange(self.n_classes) == rival)))  # fmt: skip
            if self.budget and len(self.V) > self.budget:
                getattr(self, self.maintenance.replace("-", "_"))()
                self.degradation += self.E[-1]
            if self.ball_projection and (norm := self.norm()) > np.sqrt(self.lam) * self.t:
                self.U *= np.sqrt(self.lam) * self.t / norm
                self.projected += 1
        self.A += float(self.t) ** 3 * self.U
        self.A_weight += self.lam * float(self.t) ** 4
        self.t += 1

    def append(self, x, alpha):
        self.V, self.U = np.vstack([self.V, x]), np.vstack([self.U, alpha])
        self.A = np.vstack([self.A, 0 * alpha])
        self.born = np.append(self.born, self.t)

    def drop(self, p):
        """The last one takes the place of p."""
        for name in ("V", "U", "A", "born"):
            a = getattr(self, name)
            a[p] = a[-1]
            setattr(self, name, a[:-1])

    def norm(self):
        return np.sqrt(max(np.sum(self.U * (self.k(self.V, self.V) @ self.U)), 0.0))

    def W(self):  # noqa: N802 - a matrix
        """Coefficients of W⁽ᵗ⁾, or of its average with weights t⁴."""
        return self.A / self.A_weight if self.average else self.U / (self.lam * (self.t - 1))

    # --- maintenance: one vector fewer, and ‖ΔU‖ --------------------------------------------

    def norms(self):
        return (self.U**2).sum(axis=1) * abs(np.diag(self.k(self.V, self.V)))

    def smallest(self):
        """Of equals the oldest; equal is what float32 cannot tell apart."""
        return self.ascending()[0]

    def ascending(self):
        sizes = self.norms().astype(np.float32)
        sizes[: self.frozen] = np.inf
        return np.lexsort([self.born, sizes])

    def remove(self):
        p = self.smallest()
        self.E.append(np.sqrt(self.norms()[p]))
        self.drop(p)

    def random(self):
        draw = uniform(self.seed, self.t if self.drawn is None else -self.drawn)
        p = self.frozen + int(draw * (len(self.V) - self.frozen))
        self.E.append(np.sqrt(self.norms()[p]))
        self.drop(p)

    def project(self):
        p, K = self.smallest(), self.k(self.V, self.V)
        rest = np.arange(len(K)) != p
        ridged = K + RIDGE * np.diag(np.diag(K))
        g = np.linalg.solve(ridged[np.ix_(rest, rest)], K[rest, p])
        residual = K[p, p] - 2 * g @ K[rest, p] + g @ K[np.ix_(rest, rest)] @ g
        self.E.append(np.sqrt(max(residual, 0.0)) * np.linalg.norm(self.U[p]))
        for rows in (self.U, self.A):
            rows[rest] += np.outer(g, rows[p])
        self.drop(p)

    def partner(self, m):
        """(‖Δ‖², m, n, h, s) for the best partner of m among those that are not smaller."""
        a, b, c = np.sum(self.U[m] ** 2), self.U @ self.U[m], (self.U**2).sum(axis=1)
        s = self.parameters["gamma"] * ((self.V - self.V[m]) ** 2).sum(axis=1)
        h = best_h(a, b, c, s)
        cost = np.maximum(merge_cost(h, a, b, c, s), 0)
        cost[(c < a) | (np.arange(len(c)) == m)] = np.inf
        cost[: self.frozen] = np.inf
        n = int(cost.argmin())
        return cost[n], m, n, h[n], s[n]

    def merge(self, m=None):
        cost, m, n, h, s = self.partner(self.smallest() if m is None else m)
        k_m, k_n = np.exp(-s * (1 - h) ** 2), np.exp(-s * h**2)
        self.V[n] = h * self.V[m] + (1 - h) * self.V[n]
        for rows in (self.U, self.A):
            rows[n] = k_m * rows[m] + k_n * rows[n]
        self.E.append(np.sqrt(cost))
        self.drop(m)

    def merge_all(self):
        self.merge(min(self.partner(m) for m in range(self.frozen, len(self.V)))[1])

    # --- more vectors than the budget -------------------------------------------------------

    def reduce(self):
        """Projection lets them come anew, the largest first; others take one after the other."""
        maintain = getattr(self, self.maintenance.removesuffix("-all"))
        before = len(self.E)
        if self.maintenance == "project":
            order = self.ascending()[::-1]
            rows = [getattr(self, name)[order] for name in ("V", "U", "A", "born")]
            self.V, self.U, self.A, self.born = (a[:0] for a in rows)
            for x, alpha, a, born in zip(*rows, strict=True):
                self.append(x, alpha)
                self.A[-1], self.born[-1] = a, born
                if len(self.V) > self.budget:
                    maintain()
        else:
            self.drawn = before
            while len(self.V) > self.budget:
                maintain()
                self.drawn += 1
            self.drawn = None
        self.degradation += sum(self.E[before:])
