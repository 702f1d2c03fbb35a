"""The examples of docs/extend, those in C++ with a compiler."""

import doctest
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sklearn
from helpers import problem
from kernel_twin import KernelTwin
from test_features import other_arrays, rows

import multiplane
from multiplane import AMMClassifier, GeneralizedLeastSquaresClassifier
from multiplane.data import DataError, write_cache

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "docs" / "extend" / "examples"
CXX = shutil.which("c++")
# The files that maintenance and its support vectors are made of.
MAINTENANCE = ["budget", "dispatch", "inverse", "kernel_machine", "loops", "merging", "support"]
MAINTENANCE += ["tiles"]
needs_cxx = pytest.mark.skipif(CXX is None, reason="there is no C++ compiler (c++)")


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # pickle looks there
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_examples(path):
    tried = doctest.testmod(example(path.stem))
    assert tried.attempted > 3
    assert tried.failed == 0


def test_a_link():
    link = example("cauchit").Cauchit()
    S = np.random.RandomState(0).randn(7, 4)
    for j in range(4):
        step = 1e-6 * (np.arange(4) == j)
        slope = (link.value(S + step) - link.value(S - step)) / 2e-6
        np.testing.assert_allclose(link.link(S)[:, j], slope, atol=1e-8)  # second differences
    with sklearn.config_context(array_api_dispatch=True):
        for A in other_arrays(S):
            np.testing.assert_allclose(np.asarray(link.link(A)), link.link(S), rtol=1e-12)
    X, y = problem()
    X = X.astype(np.float64)
    clf = GeneralizedLeastSquaresClassifier(link, alpha=0, tol=1e-12, max_iter=2000).fit(X, y)
    # At the optimum the residual is orthogonal to the features.
    R = np.eye(3)[y] - clf.predict_proba(X)
    assert abs(R.T @ np.c_[X, np.ones(300)]).max() / 300 < 1e-5  # the loss is flat to 12 digits
    with pytest.raises(TypeError, match="Cauchit"):
        multiplane.save(clf, "never.mpl")
    assert np.array_equal(multiplane.compile(clf).predict(X), clf.predict(X))


def test_a_generator():
    make = example("random_hinges").RandomHinges
    X = rows()
    Z = make(50, random_state=0).fit_transform(X.astype(np.float32))
    assert Z.dtype == np.float32
    assert Z.min() == 0
    with sklearn.config_context(array_api_dispatch=True):
        for A in other_arrays(X):
            again = make(50, random_state=0).fit_transform(A)
            np.testing.assert_allclose(np.asarray(again), Z, rtol=1e-5, atol=1e-5)  # of float32


def test_a_reader(tmp_path):
    import sqlite3

    X, y = problem(d=3)
    with sqlite3.connect(tmp_path / "rows.db") as database:
        database.execute("CREATE TABLE t (a REAL, b REAL, c REAL, y INTEGER)")
        table = np.c_[X, y].tolist()
        database.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", table)
    make = example("sqlite_source").SqliteSource
    source = make(tmp_path / "rows.db", "SELECT * FROM t", block_size=70)
    assert source.feature_names == ["a", "b", "c"]
    read = source.load()
    np.testing.assert_array_equal(read.X, X)
    np.testing.assert_array_equal(read.y, y)
    settings = {"max_iter": 1, "shuffle": False}
    streamed = AMMClassifier(random_state=0).fit_stream(source, **settings)
    expected = AMMClassifier(random_state=0, **settings).fit(X, y)
    assert streamed.coef_.tobytes() == expected.coef_.tobytes()
    write_cache(source, tmp_path / "rows.mpc")
    np.testing.assert_array_equal(multiplane.data.open_source(tmp_path / "rows.mpc").load().X, X)
    with pytest.raises(DataError, match=r"rows\.db: could not convert"):
        make(tmp_path / "rows.db", "SELECT 'word', y FROM t").load()


class OldestTwin(KernelTwin):
    def oldest(self):
        p = self.frozen + int(self.born[self.frozen :].argmin())
        self.E.append(np.sqrt(self.norms()[p]))
        self.drop(p)


def test_a_maintenance_strategy():
    X, y = problem()
    config = dict(n_features=7, n_classes=3, lam=0.01, seed=0, average=False, kernel="rbf",
                  ball_projection=False, gamma=0.1, coef0=0.0, degree=3)  # fmt: skip
    whole = OldestTwin(budget=0, maintenance="", **config)
    twin = OldestTwin(budget=15, maintenance="oldest", **config)
    whole.learn(X[:15], y[:15])
    twin.learn(X[:15], y[:15])
    np.testing.assert_array_equal(twin.V, whole.V)
    twin.learn(X[15:], y[15:])
    assert len(twin.V) == 15
    assert twin.born.min() > 15
    assert len(twin.E) == twin.updates - 15


def run_cpp(tmp_path, code, *sources):
    """What a program prints that is made of this and of files of native/."""
    program = tmp_path / "program.cpp"
    program.write_text(code)
    native = ROOT / "native"
    subprocess.run(
        [CXX, "-std=c++20", "-O0", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror",
         f"-I{native}", f"-I{EXAMPLES}", "-DMP_LEVEL=baseline", "-DMP_ONLY_LEVEL=loops_baseline",
         program, *(native / f"{name}.cpp" for name in sources), "-o", tmp_path / "program"],
        check=True,
    )  # fmt: skip
    output = subprocess.run([tmp_path / "program"], check=True, capture_output=True, text=True)
    return [float(word) for word in output.stdout.split()]


@needs_cxx
def test_a_kernel_in_cpp(tmp_path):
    code = """
    #include <cstdio>
    #include "kernel.hpp"
    #include "simd.hpp"
    #include "cauchy.hpp"
    int main() {
      const multiplane::Kernel kernel{multiplane::Kernel::Kind::Rbf, 0.5f, 0.0f, 0};
      float dot[16], out[16];
      for (int i = 0; i < 16; ++i) dot[i] = 0.25f * i;
      store(out, Cauchy(kernel)(load(dot), splat(3.0f), splat(4.0f)));
      for (float k : out) std::printf("%.9g ", k);
    }"""
    distance = np.maximum(7 - 2 * 0.25 * np.arange(16), 0)
    # A division and two roundings before it, of float32.
    np.testing.assert_allclose(run_cpp(tmp_path, code), 1 / (1 + 0.5 * distance), rtol=3e-7)


@needs_cxx
def test_a_maintenance_strategy_in_cpp(tmp_path):
    code = """
    #include <cmath>
    #include <cstdio>
    #include "budget.hpp"
    namespace multiplane {
    #include "oldest.hpp"
    }
    using namespace multiplane;
    int main() {
      Support support(1, 2, {Kernel::Kind::Linear, 1.0f, 0.0f, 1}, false);
      const std::int64_t born[] = {7, 3, 5};
      for (int i = 0; i < 3; ++i) {
        const float x = static_cast<float>(i + 1);
        support.add({Row::Kind::dense, &x, nullptr, 1}, x * x, born[i]);
        support.machine().set_coef(0, i, 1.0f);
        support.machine().set_coef(1, i, -1.0f);
        support.weigh(i);
      }
      const Change change = Oldest().reduce(support, {2, nullptr, nullptr, 0.0}, false);
      std::printf("%d %d %g", support.size(), change.touched[0], change.squared_norm);
      for (int i = 0; i < 2; ++i) std::printf(" %g", support.machine().lane(i)[0]);
    }"""
    # The second goes, of ‖α‖² k(v, v) = 2 · 4, and the last takes its place.
    assert run_cpp(tmp_path, code, *MAINTENANCE) == [2, 1, 8, 1, 3]
