"""The public face, the stub, the doctests, instruction sets and threads."""

import ast
import doctest
import importlib
import pickle
import pkgutil
import re
import threading
from importlib.metadata import metadata
from pathlib import Path

import numpy as np
import pytest
from helpers import CLASSIFIERS, LEAST_SQUARES, VARIANTS, problem, run_python, state

import multiplane
from multiplane import AMMClassifier, BudgetedPegasosClassifier, GAMMClassifier, _native

# An editable install has the root of the sources in its path, too, because of experiments/.
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(
        [path for path in multiplane.__path__ if Path(path).name == "multiplane"], "multiplane."
    )
    if not module.name.startswith("multiplane.experiments")
)


def test_public_names():
    assert sorted(multiplane.__all__) == multiplane.__all__
    for name in multiplane.__all__:
        assert getattr(multiplane, name) is not None
    public = {name for name in vars(multiplane) if not name.startswith("_")}
    internal = {
        "cli",
        "dask",  # public, but not for everybody
        "estimators",
        "experiments",
        "exploration",
        "exporting",
        "models",
        "persistence",
        "progress",
        "reporting",
        "solvers",
    }
    assert public - internal == set(multiplane.__all__) - {"__version__"}
    assert set(multiplane.__all__) <= set(dir(multiplane))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        multiplane.nothing  # noqa: B018
    assert multiplane.__version__ == metadata("multiplane")["Version"] == "0.1.0"
    assert (Path(multiplane.__file__).parent / "py.typed").exists()


@pytest.mark.parametrize("make", CLASSIFIERS)
def test_public_methods_are_documented(make):
    for name in ("fit", "partial_fit", "predict", "decision_function", "apply", "score"):
        if name == "apply" and make is BudgetedPegasosClassifier:
            continue
        assert getattr(make, name).__doc__
    assert "Examples" in make.__doc__
    assert "References" in make.__doc__
    assert not re.search(
        r"\{(shared|common|kernel|pruned|attributes|c|max_iter|prune)\}", make.__doc__
    )
    summary = make.__doc__.splitlines()[0]
    assert summary.endswith(".") or ":" in summary


@pytest.mark.parametrize("name", ["multiplane", *MODULES])
def test_doctests(name):
    module = importlib.import_module(name)
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    results = doctest.testmod(module, optionflags=options)
    assert results.failed == 0


@pytest.mark.parametrize("make", LEAST_SQUARES)
def test_least_squares_are_documented(make):
    for name in ("fit", "predict", "predict_proba", "decision_function", "score"):
        assert getattr(make, name).__doc__
    for part in ("Parameters", "Attributes", "Examples", "References"):
        assert part in make.__doc__
    assert not re.search(r"\{(alpha|shared|attributes|reference)\}", make.__doc__)
    for name in make().get_params(deep=False):
        assert f"    {name} : " in make.__doc__, name


def test_every_estimator_has_a_doctest():
    finder = doctest.DocTestFinder()
    for make in (*CLASSIFIERS, *LEAST_SQUARES):
        assert any(test.examples for test in finder.find(make, globs={})), make


def test_the_stub_lists_what_the_compiled_module_has():
    stub = Path(multiplane.__file__).with_name("_native.pyi")
    tree = ast.parse(stub.read_text())

    def names(body):
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                yield node.name
            elif isinstance(node, ast.AnnAssign):
                yield node.target.id

    def visible(thing):
        return {name for name in vars(thing) if not name.startswith("_")}

    assert {name for name in names(tree.body) if not name.startswith("_")} == visible(_native)
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            listed = {name for name in names(node.body) if not name.startswith("_")}
            assert listed == visible(getattr(_native, node.name)), node.name


def signatures(stub):
    """Name of a function: its arguments, with their defaults and the types of their arrays."""
    found = {}

    def add(prefix, body):
        for node in body:
            if isinstance(node, ast.ClassDef):
                add(f"{node.name}.", node.body)
            elif isinstance(node, ast.FunctionDef) and node.name != "__setstate__":
                args = node.args
                places = [*args.args, *args.kwonlyargs]
                values = [*args.defaults, *args.kw_defaults]
                values = [None] * (len(places) - len(values)) + values
                found[prefix + node.name] = [
                    (
                        place.arg,
                        place in args.kwonlyargs,
                        arrays_of(place),
                        value and ast.unparse(value),
                    )
                    for place, value in zip(places, values, strict=True)
                ]

    def arrays_of(place):
        annotation = place.annotation or place
        return {node.attr for node in ast.walk(annotation) if isinstance(node, ast.Attribute)}

    add("", ast.parse(stub).body)
    return found


def test_the_stub_has_the_arguments_of_the_compiled_module():
    generator = pytest.importorskip("nanobind.stubgen").StubGen(_native)
    generator.put(_native)
    real = signatures(generator.get())
    ours = signatures(Path(multiplane.__file__).with_name("_native.pyi").read_text())
    del real["csr_rows"], ours["csr_rows"]  # for two types of indices
    assert {name: real[name] for name in ours} == ours


def test_nothing_is_imported_that_need_not_be():
    """A model can be loaded and used without the data sets' tools or a plotting library."""
    process = run_python(
        "import sys, multiplane\nprint([m for m in ('matplotlib', 'numba') if m in sys.modules])"
    )
    assert process.stdout.strip() == "[]", process.stderr


# --- instruction sets ----------------------------------------------------------------------


def test_show_config(capsys):
    multiplane.show_config()
    out = capsys.readouterr().out
    for word in ("multiplane", "numpy", "scipy", "scikit-learn", "python", "simd", "compiler",
                 "threads", _native.simd_level(), np.__version__):  # fmt: skip
        assert word in out


@pytest.mark.parametrize("level", [*_native.simd_levels(), " AVX2 ", ""])
def test_simd_from_the_environment(level):
    if level.strip().lower() not in ["", *_native.simd_levels()]:
        pytest.skip("this machine has no AVX2")
    process = run_python(
        "import multiplane; print(multiplane._native.simd_level())", MULTIPLANE_SIMD=level
    )
    # Without a wish: the widest that the machine has.
    expected = level.strip().lower() or _native.simd_levels()[-1]
    assert process.stdout.strip() == expected, process.stderr


@pytest.mark.parametrize(
    "level", ["sse9", "avx512" if "avx512" not in _native.simd_levels() else "x"]
)
def test_unknown_simd(level):
    process = run_python("import multiplane", MULTIPLANE_SIMD=level)
    assert process.returncode == 1
    last = process.stderr.strip().splitlines()[-1]
    assert re.match(rf"ImportError: MULTIPLANE_SIMD={level}: .*choose one of baseline", last)
    with pytest.raises(ValueError, match="is not available here; choose one of baseline"):
        _native.use_simd(level)


# --- threads -------------------------------------------------------------------------------


@pytest.mark.parametrize("make", VARIANTS.values(), ids=VARIANTS)
def test_predicting_while_a_copy_learns(make):
    X, y = problem(n=500, d=40)
    clf = make(random_state=0, max_iter=2, n_jobs=2).fit(X, y)
    expected, before = clf.decision_function(X), state(clf)
    learning = pickle.loads(pickle.dumps(clf))
    failures, done = [], threading.Event()

    def predict():
        while not done.is_set():
            if clf.decision_function(X).tobytes() != expected.tobytes():
                failures.append("another answer")

    threads = [threading.Thread(target=predict) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(10):
        learning.partial_fit(X, y)
    done.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert state(clf) == before


def test_several_threads_ask_for_a_new_model_at_once():
    """The model is made when it is first asked for: by all of them, if need be."""
    X, y = problem(n=300)
    clf = GAMMClassifier(random_state=0).partial_fit(X, y, classes=[0, 1, 2])
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(clf.predict(X))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(answer, clf.predict(X)) for answer in answers)
    assert len(answers) == 8


def test_training_in_several_threads():
    """Learners share nothing but the table of loops."""
    X, y = problem(n=400)
    models = [AMMClassifier(random_state=k % 2, max_iter=3) for k in range(6)]
    threads = [threading.Thread(target=clf.fit, args=(X, y)) for clf in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({state(clf) for clf in models}) == 2
