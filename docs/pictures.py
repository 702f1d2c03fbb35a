"""The pictures of docs/families, drawn from what the library computes; the same at each run.

python docs/pictures.py           all of them, half a minute
python docs/pictures.py start     one
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # experiments

from experiments.pictures import CLASSES, save
from multiplane import (
    BudgetedPegasosClassifier,
    CalibratedLeastSquaresClassifier,
    GAMMClassifier,
    GeneralizedLeastSquaresClassifier,
    MultiplaneClassifier,
    PegasosClassifier,
    StagewiseLeastSquaresClassifier,
    _native,
)
from multiplane.data import Matrix
from multiplane.datasets import make_checkerboard
from multiplane.features import RandomFourier
from multiplane.models._scaling import Scaling
from multiplane.solvers._sgd import annealed
from multiplane.solvers._tangents import tangents

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle

FOLDER = Path(__file__).resolve().parent / "families"
PALE = np.array([[0.77, 0.85, 0.93], [0.96, 0.80, 0.80]])
GREY = "#8a8a8a"
SIDE = np.linspace(-1, 1, 241, dtype=np.float32)
GRID = np.stack(np.meshgrid(SIDE, SIDE), axis=-1).reshape(-1, 2)


def panels(n: int, width: float = 9, height: float = 3.1, **options: Any) -> tuple[Any, Any]:
    figure, axes = plt.subplots(1, n, figsize=(width, height), layout="constrained", **options)
    return figure, np.atleast_1d(axes)


def plain(axis: Any) -> None:
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def draw_cells(axis: Any, cells: Any, classes: Any, title: str) -> None:
    """Regions by class; white where two cells of a class meet, dark where two classes do."""
    shape = len(SIDE), len(SIDE)
    cells, classes = np.reshape(cells, shape), np.reshape(classes, shape)
    axis.imshow(PALE[classes], extent=(-1, 1, -1, 1), origin="lower")
    for what, colour, width in ((cells, "white", 1.0), (classes, "#404040", 1.0)):
        for value in np.unique(what)[1:]:
            inside = (what == value).astype(float)
            axis.contour(SIDE, SIDE, inside, levels=[0.5], colors=colour, linewidths=width)
    axis.set_title(title, fontsize=10)
    axis.set(xlim=(-1, 1), ylim=(-1, 1), xticks=[], yticks=[])


def error(model: Any, X: Any, y: Any) -> str:
    return f"{100 * np.mean(model.predict(X) != y):.1f} % wrong"


# --- index -----------------------------------------------------------------------------------


def families() -> Any:
    """One board, four ways to cut it."""
    X, y = make_checkerboard(3, 3, n=12_000, random_state=0)
    X_test, y_test = make_checkerboard(3, 3, n=5_000, random_state=1)
    models = {
        "Pegasos\na hyperplane a class": PegasosClassifier(random_state=0),
        "Multiplane\nseveral": MultiplaneClassifier(random_state=0),
        "Budgeted Pegasos\n40 support vectors": BudgetedPegasosClassifier(
            1e-4, gamma=8, budget=40, max_iter=5, random_state=0
        ),
        "Stagewise least squares\n256 waves": StagewiseLeastSquaresClassifier(
            features=RandomFourier(width="0.3*median"), block_size=64, n_stages=4, random_state=0
        ),
    }
    figure, axes = panels(len(models), height=3)
    for axis, (title, model) in zip(axes, models.items(), strict=True):
        model.fit(X, y)
        classes = model.predict(GRID)
        cells = model.apply(GRID) if hasattr(model, "apply") else classes
        draw_cells(axis, cells, classes, title)
        if hasattr(model, "support_vectors_"):
            axis.plot(*model.support_vectors_.T, "k.", markersize=4)
        axis.set_xlabel(error(model, X_test, y_test), fontsize=9)
    return figure


# --- hyperplanes -----------------------------------------------------------------------------


def draw_lines(axis: Any, W: Any, owner: Any, winners: Any, x: Any) -> None:
    """Lines as functions of x; those that win in the colour of their class, of others some."""
    scores = x[:, None] * W[:, 0] + W[:, 1]
    for i in range(len(W)):
        wins = i in winners
        if not wins and i % 4:
            continue
        axis.plot(
            x,
            scores[:, i],
            color=CLASSES[owner[i]] if wins else GREY,
            linewidth=0.9 if wins else 0.4,
            alpha=0.9 if wins else 0.5,
            zorder=2 if wins else 1,
        )
    best = scores.argmax(axis=1)
    for i in np.unique(best):
        own = best == i
        axis.plot(x[own], scores[own, i], color=CLASSES[owner[i]], linewidth=3.2, zorder=3)
        axis.axvspan(
            x[own][0], x[own][-1] + x[1] - x[0], color=PALE[owner[i]], linewidth=0, zorder=0
        )


def envelope() -> Any:
    figure, axes = panels(2, height=3.6, width_ratios=(1.5, 1))
    random = np.random.RandomState(0)
    X = random.uniform(-1, 1, size=(6_000, 1)).astype(np.float32)
    y = np.floor(2.5 * (X[:, 0] + 1)).astype(int) % 2
    clf = GAMMClassifier(alpha=1e-4, random_state=0).fit(X, y)
    W = np.column_stack([clf.coef_, clf.intercept_])
    x = np.linspace(-1, 1, 801)
    winners = np.unique((x[:, None] * W[:, 0] + W[:, 1]).argmax(axis=1))
    axis = axes[0]
    draw_lines(axis, W, clf.hyperplane_class_, winners, x)
    top = (x[:, None] * W[:, 0] + W[:, 1]).max(axis=1)
    axis.set(xlim=(-1, 1), ylim=(top.min() - 0.6 * np.ptp(top), top.max()), xlabel="x")
    axis.set_ylabel("score")
    axis.set_title(
        f"five stripes: {len(winners)} of {len(W)} hyperplanes make the envelope", fontsize=10
    )
    plain(axis)
    X, y = make_checkerboard(3, 3, n=15_000, random_state=0)
    clf = GAMMClassifier(alpha=1e-5, random_state=0).fit(X, y)
    cells = clf.apply(GRID)
    title = f"a board: {len(np.unique(cells))} of {clf.n_hyperplanes_} win somewhere"
    draw_cells(axes[1], cells, clf.hyperplane_class_[cells], title)
    return figure


def blocks() -> Any:
    """Scores of a block of rows, of which the third makes a step."""
    n_rows, n_columns, at = 8, 12, 2
    first, later, thrown, step = "#c9d8e6", "#e0a23b", "#ececec", "#b2182b"
    figure, axes = panels(
        3, height=3.1, width_ratios=(n_rows + n_columns + 1, n_columns, n_columns)
    )

    def draw(axis: Any, colour: Callable[[int, int], str], left: int, n_columns: int) -> None:
        for r, c in np.ndindex(n_rows, n_columns):
            place = left + c, r
            axis.add_patch(Rectangle(place, 0.88, 0.88, color=colour(r, c), linewidth=0))

    def gram(r: int, c: int) -> str:
        return thrown if c > r else later if c == at and r > at else first

    def corrected(r: int, c: int) -> str:
        return first if r < at or c not in (2, 7) else step if r == at else later

    def guessed(r: int, c: int) -> str:
        if r <= at:
            return step if r == at and c in (2, 7) else first
        return later if r <= at + n_rows // 2 else thrown  # the next block is half as long

    def by_tiles(r: int, c: int) -> str:
        if r == at and c == 5:
            return step
        return later if r > at and c // 4 == 1 else first

    draw(axes[0], gram, 0, n_rows)
    draw(axes[0], corrected, n_rows + 1, n_columns)
    draw(axes[1], guessed, 0, n_columns)
    draw(axes[2], by_tiles, 0, n_columns)
    for c in (4, 8):
        axes[2].plot([c - 0.06] * 2, [-0.2, n_rows + 0.1], color=GREY, linewidth=0.8)
    words = (
        ("the known way: corrected by a Gram matrix", "rows × rows, rows × hyperplanes"),
        ("hyperplanes: a new block", "rows × hyperplanes"),
        ("kernels: changed tiles anew", "rows × support vectors"),
    )
    for axis, (title, below) in zip(axes, words, strict=True):
        axis.set_title(title, fontsize=10)
        axis.set_xlabel(below, fontsize=9)
        right = n_columns + (n_rows + 1 if axis is axes[0] else 0)
        axis.set(xlim=(-0.2, right + 0.1), ylim=(n_rows + 0.2, -0.3), aspect="equal")
        axis.set(xticks=[], yticks=[])
        axis.spines[:].set_visible(False)
    legend = (
        (first, "made at once"),
        (step, "the third row's step"),
        (later, "correction, or made anew"),
        (thrown, "not needed, or later"),
    )
    figure.legend(
        handles=[Rectangle((0, 0), 1, 1, color=colour, label=label) for colour, label in legend],
        loc="outside lower center",
        ncols=len(legend),
        fontsize=9,
        frameon=False,
    )
    return figure


# --- multiplane ------------------------------------------------------------------------------


def start() -> Any:
    figure, axes = panels(3, height=3.3, width_ratios=(1.35, 1, 1))
    random = np.random.RandomState(0)
    x = random.uniform(-1, 1, size=2_000).astype(np.float32)
    y = (np.floor(2.5 * (x + 1)).astype(np.int32) % 2).astype(np.int32)
    begin = tangents(x[:, None], y, 2, np.array([3, 2]), random)
    slope, intercept = begin.hyperplanes.T
    a = float(np.median(-0.5 * slope**2 / np.minimum(intercept, -1e-9)))
    line = np.linspace(-1, 1, 801)
    axis = axes[0]
    draw_lines(axis, begin.hyperplanes, begin.owner, range(len(slope)), line)
    axis.plot(line, 0.5 * a * line**2, color="black", linewidth=1, zorder=4)
    axis.plot(slope / a, 0.5 * slope**2 / a, "ko", markersize=4, zorder=5)
    axis.set(xlim=(-1, 1), ylim=(-0.2 * a, 0.52 * a), xticks=[-1, 0, 1], yticks=[], xlabel="x")
    axis.set_title("tangents to ½x² at centres", fontsize=10)
    plain(axis)

    X, y = make_checkerboard(4, 4, n=15_000, random_state=0)
    clf = MultiplaneClassifier(random_state=0).fit(X, y)
    scaling = Scaling.learnt(X, np.arange(len(X)), clf.settings_["scale"])
    number = np.full(2, clf.settings_["n_hyperplanes"])
    begin = tangents(scaling(X), y.astype(np.int32), 2, number, np.random.RandomState(0))
    planes = _native.Hyperplanes(begin.hyperplanes, begin.owner, 1.0)
    [(_, rows)] = Matrix(scaling(GRID)).chunks()
    cells = planes.winners(rows, 1, False)
    title = f"the start: {len(begin.owner)} centres"
    draw_cells(axes[1], cells, begin.owner[cells], title)
    cells = clf.apply(GRID)
    title = f"the end: {clf.n_hyperplanes_} hyperplanes"
    draw_cells(axes[2], cells, clf.hyperplane_class_[cells], title)
    return figure


def sharing() -> Any:
    figure, axes = panels(2, height=2.8)
    below = np.array([0.0, 0.3, 0.9, 1.6, 2.6])  # margins below the winner
    axis = axes[0]
    for k, (width, shade) in enumerate(((2.0, "#08306b"), (1.0, "#4292c6"), (0.0, "#b5cfe5"))):
        share = np.maximum(0, 1 - below / width) if width else (below == 0).astype(float)
        position = np.arange(len(below)) + 0.26 * (k - 1)
        axis.bar(position, share / share.sum(), 0.24, color=shade, label=f"sharing = {width:g}")
    axis.set_xticks(range(len(below)), [f"{b:g}" for b in below])
    axis.set(xlabel="margins below the winner", ylabel="part of the step")
    axis.set_title("five hyperplanes of a class, one step", fontsize=10)
    axis.legend(frameon=False, fontsize=9)
    plain(axis)
    done = np.linspace(0, 1, 201)
    width, rate = np.array([annealed(2.0, d) for d in done]).T
    axis = axes[1]
    axis.plot(done, width, color="#08306b", label="sharing, in margins")
    axis.plot(done, rate, color="#e0a23b", label="steps, factor")
    axis.set(xlabel="share of the passes that is done", ylim=(0, 2.1))
    axis.set_title("two halves", fontsize=10)
    axis.legend(frameon=False, fontsize=9)
    plain(axis)
    return figure


# --- budgeted --------------------------------------------------------------------------------


def merging() -> Any:
    """Two support vectors, learnt with a budget of one."""
    gamma, lam, v_n, v_m, c_n, c_m = 1.0, 5.0, 0.0, 1.2, 1.0, 0.6
    clf = BudgetedPegasosClassifier(
        lam, gamma=gamma, budget=1, average=False, ball_projection=False, shuffle=False
    )
    # The third row, which has no weight, says that there is a second class.
    clf.fit([[v_n], [v_m], [v_n]], [0, 0, 1], sample_weight=[c_n, c_m, 0])
    z, c_z = float(clf.support_vectors_[0, 0]), float(clf.dual_coef_[0, 0]) * lam * 2

    x = np.linspace(-2.5, 3.7, 400)
    bump = lambda at: np.exp(-gamma * (x - at) ** 2)  # noqa: E731
    figure, axes = panels(2)
    axis = axes[0]
    axis.fill_between(x, c_n * bump(v_n), color=PALE[0], linewidth=0)
    axis.fill_between(x, c_m * bump(v_m), color="#f0dcb4", linewidth=0, alpha=0.8)
    axis.plot(x, c_n * bump(v_n) + c_m * bump(v_m), "k", linewidth=1.5, label="their sum")
    axis.plot(x, c_z * bump(z), color=CLASSES[1], linewidth=2, label="the merged one")
    axis.annotate("$z$", (z, c_z + 0.02), ha="center", va="bottom", color=CLASSES[1])
    axis.set(xlim=(x[0], x[-1]), ylim=(0, 1.45))
    axis.set_xticks([v_n, v_m], ["$v_n$", "$v_m$"])
    axis.set_title("two bumps become one", fontsize=10)
    axis.legend(frameon=False, fontsize=9)
    plain(axis)

    h = np.linspace(-0.4, 1.4, 400)
    s = gamma * (v_m - v_n) ** 2
    k_m, k_n = np.exp(-s * (1 - h) ** 2), np.exp(-s * h**2)
    a, b, c = 2 * c_m**2, 2 * c_m * c_n, 2 * c_n**2  # two classes, ± each
    lost = a * (1 - k_m**2) + c * (1 - k_n**2) + 2 * b * (np.exp(-s) - k_m * k_n)
    axis = axes[1]
    axis.plot(h, lost, "k", linewidth=1.5)
    found, moved = (z - v_n) / (v_m - v_n), (2 * clf.degradation_) ** 2  # of two steps
    axis.plot([found], [moved], "o", color=CLASSES[1])
    axis.annotate(
        f"the library's: $h$ = {found:.2f}",
        (found, moved),
        (found + 0.03, 0.5 * moved),
        ha="left",
        va="center",
        color=CLASSES[1],
        fontsize=9,
    )
    for at, cost, words in (
        (0, a * (1 - np.exp(-2 * s)), "projected\nonto $v_n$"),
        (1, c * (1 - np.exp(-2 * s)), "projected\nonto $v_m$"),
    ):
        axis.plot([at], [cost], "o", color=GREY)
        place = (at - 0.06, cost - 0.02) if at == 0 else (at + 0.06, cost - 0.02)
        side = "right" if at == 0 else "left"
        axis.annotate(words, place, ha=side, va="top", color=GREY, fontsize=9)
    axis.axhline(a, color=GREY, linewidth=0.8, linestyle=(0, (4, 3)))
    axis.annotate("$v_m$ removed", (1.4, a), ha="right", va="bottom", color=GREY, fontsize=9)
    axis.set(xlabel="$h$", ylabel=r"$\|\Delta\|^2$", ylim=(0, None), xlim=(h[0], h[-1]))
    axis.set_title("what the model loses", fontsize=10)
    plain(axis)
    return figure


def budget() -> Any:
    X, y = make_checkerboard(4, 4, n=40_000, random_state=0)
    X_test, y_test = make_checkerboard(4, 4, n=5_000, random_state=1)
    figure, axes = panels(3, height=3.6)
    for axis, way in zip(axes, ("remove", "project", "merge"), strict=True):
        clf = BudgetedPegasosClassifier(
            1e-4, gamma=16, budget=50, maintenance=way, random_state=0
        ).fit(X, y)
        classes = clf.predict(GRID)
        draw_cells(axis, classes, classes, f'maintenance="{way}"')
        axis.plot(*clf.support_vectors_.T, "k.", markersize=4)
        axis.set_xlabel(error(clf, X_test, y_test), fontsize=9)
    return figure


# --- least squares ---------------------------------------------------------------------------


def links() -> Any:
    figure, axes = panels(2)
    random = np.random.RandomState(0)
    X = random.uniform(-1, 1, size=(20_000, 1))
    truth = lambda x: 1 / (1 + np.exp(-8 * x))  # noqa: E731
    y = random.random_sample(len(X)) < truth(X[:, 0])
    x = np.linspace(-1, 1, 201)
    axis = axes[0]
    axis.plot(x, truth(x), "k--", linewidth=1.2, label="truth")
    for rounds, shade in ((1, "#b5cfe5"), (2, "#4292c6"), (10, "#08306b")):
        clf = CalibratedLeastSquaresClassifier(max_iter=rounds, tol=0).fit(X, y)
        axis.plot(x, clf.predict_proba(x[:, None])[:, 1], color=shade, label=f"round {rounds}")
    line = GeneralizedLeastSquaresClassifier("identity").fit(X, y)
    axis.plot(
        x, (1 + line.decision_function(x[:, None])) / 2, color="#e0a23b", label="least squares"
    )
    axis.set(xlabel="x", ylabel="probability", xlim=(-1, 1))
    axis.set_title("calibrated: the link is learnt", fontsize=10)
    axis.legend(frameon=False, fontsize=9)
    plain(axis)

    X, y = load_digits(return_X_y=True)
    X /= 16
    n_iter, alpha = 100, 1e-4
    axis = axes[1]
    losses = {"gradient descent": descent(X, y, alpha, n_iter)}
    for name, accelerated in (("generalized", False), ("accelerated", True)):
        clf = GeneralizedLeastSquaresClassifier(
            alpha=alpha, accelerated=accelerated, max_iter=n_iter, tol=0
        ).fit(X, y)
        losses[name] = [entry["loss"] for entry in clf.history_]
    for (name, loss), colour in zip(losses.items(), (GREY, "#4292c6", "#08306b"), strict=True):
        axis.plot(np.arange(1, len(loss) + 1), loss, color=colour, label=name)
    axis.set(xlabel="iteration", ylabel="loss", ylim=(0, None), xscale="log")
    axis.xaxis.set_major_formatter("{x:g}")
    axis.set_title("64 correlated pixels, logistic regression", fontsize=10)
    axis.legend(frameon=False, fontsize=9)
    plain(axis)
    return figure


def descent(X: Any, y: Any, alpha: float, n_iter: int) -> list[float]:
    """Loss of plain gradient descent with the longest step that is safe."""
    F = np.column_stack([X, np.ones(len(X))])
    Y = np.eye(10)[y]
    ridge = np.append(np.full(X.shape[1], alpha), 0)[:, None]
    step = 1 / (0.5 * np.linalg.eigvalsh(F.T @ F / len(F))[-1] + alpha)
    W, losses = np.zeros((F.shape[1], 10)), []
    for _ in range(n_iter + 1):
        S = F @ W
        P = np.exp(S - S.max(axis=1, keepdims=True))
        P /= P.sum(axis=1, keepdims=True)
        losses.append(-np.log((P * Y).sum(axis=1)).mean() + 0.5 * (ridge * W**2).sum())
        W -= step * (F.T @ (P - Y) / len(F) + ridge * W)
    return losses[1:]


def stages() -> Any:
    figure, axes = panels(2)
    random = np.random.RandomState(0)
    X = random.uniform(-1, 1, size=(20_000, 1))
    chance = lambda x: 0.1 + 0.8 * (np.floor(2.5 * (x + 1)) % 2)  # noqa: E731
    y = random.random_sample(len(X)) < chance(X[:, 0])
    clf = StagewiseLeastSquaresClassifier(
        features=RandomFourier(width=0.05), block_size=4, n_stages=40, random_state=0
    ).fit(X, y)
    x = np.linspace(-1, 1, 401)[:-1]
    axis = axes[0]
    axis.plot(x, chance(x), "k--", linewidth=1.0, label="truth")
    staged = [(1 + d) / 2 for d in clf.staged_decision_function(x[:, None])]
    for stage, shade in ((1, "#b5cfe5"), (8, "#4292c6"), (40, "#08306b")):
        axis.plot(x, staged[stage - 1], color=shade, label=f"{4 * stage} features")
    axis.set(xlabel="x", ylabel="prediction", xlim=(-1, 1))
    axis.set_title("blocks of four waves, one after the other", fontsize=10)
    axis.legend(frameon=False, fontsize=8, loc="lower center", ncols=4, columnspacing=0.8)
    axis.set_ylim(-0.15, 1.05)
    plain(axis)

    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = X[:1_200], X[1_200:], y[:1_200], y[1_200:]
    axis = axes[1]
    ways = (
        ("linear", 32, "#b5cfe5"),
        ("linear", 128, "#4292c6"),
        ("linear", 512, "#08306b"),
        ("calibrated", 32, "#e0a23b"),
    )
    for update, block_size, colour in ways:
        wrong = []
        for seed in range(3):
            clf = StagewiseLeastSquaresClassifier(
                update, block_size=block_size, n_stages=1_024 // block_size, random_state=seed
            ).fit(X, y)
            wrong.append([100 * np.mean(labels != y_test) for labels in clf.staged_predict(X_test)])
        features = block_size * np.arange(1, len(wrong[0]) + 1)
        label = f"{update}, blocks of {block_size}"
        axis.plot(features, np.mean(wrong, axis=0), ".-", color=colour, label=label)
    axis.set(xlabel="features", ylabel="test error, %", ylim=(0, 16))
    axis.set_title("digits, 1,200 rows, mean of three", fontsize=10)
    axis.legend(frameon=False, fontsize=9)
    plain(axis)
    return figure


PICTURES: dict[str, Callable[[], Any]] = {
    draw.__name__: draw
    for draw in (families, envelope, blocks, start, sharing, merging, budget, links, stages)
}


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)  # as many iterations as are drawn
    for name in sys.argv[1:] or PICTURES:
        path = FOLDER / f"{name}.png"
        save(PICTURES[name](), path, colours=64)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
