"""``multiplane train``: every classifier of the library, with every parameter."""

from __future__ import annotations

import contextlib
import inspect
import re
import sys
from typing import Any

import click

from multiplane.cli import _progress
from multiplane.cli._main import check_folder, check_output
from multiplane.cli._options import Duration, reading, value_of
from multiplane.cli._whole import loaded

ESTIMATORS = {
    "multiplane": "MultiplaneClassifier",
    "pegasos": "PegasosClassifier",
    "mm": "MMClassifier",
    "amm": "AMMClassifier",
    "gamm": "GAMMClassifier",
    "bpegasos": "BudgetedPegasosClassifier",
    "projectron": "ProjectronClassifier",
    "least-squares": "GeneralizedLeastSquaresClassifier",
    "calibrated": "CalibratedLeastSquaresClassifier",
    "stagewise": "StagewiseLeastSquaresClassifier",
    "auto": "AutoClassifier",
}
# Said by options of the command itself, or of no use here.
_NOT_OFFERED = {"verbose", "warm_start"}


class Train(click.Command):
    """Has the parameters of the estimator that is asked for among its options."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        self.params = self.offered(args, context.default_map or {})
        return super().parse_args(context, args)

    def offered(self, args: list[str], given: Any) -> list[click.Parameter]:
        """Options, with those of the estimator that is asked for."""
        name = _estimator_named(args, given)
        own = [p for p in self.params if not getattr(p, "of_estimator", False)]
        return own + (_options(name) if name in ESTIMATORS else [])

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        own: list[tuple[str, str]] = []
        theirs: list[tuple[str, str]] = []
        for parameter in self.get_params(context):
            record = parameter.get_help_record(context)
            if record is not None and isinstance(parameter, click.Option):
                (theirs if getattr(parameter, "of_estimator", False) else own).append(record)
        with formatter.section("Options"):
            formatter.write_dl(own)
        with formatter.section("Parameters of the estimator (those of others: -e NAME --help)"):
            formatter.write_dl(theirs)


def _estimator_named(args: list[str], given: Any) -> str:
    for i, word in enumerate(args):
        if word in ("-e", "--estimator") and i + 1 < len(args):
            return args[i + 1]
        if word.startswith("--estimator="):
            return word.partition("=")[2]
        if word.startswith("-e") and len(word) > 2:
            return word[2:]
    return str(given.get("estimator", "multiplane"))


def _options(name: str) -> list[click.Parameter]:
    """One option for each parameter of an estimator, with the first words of its description."""
    estimator = _class(name)
    described = _descriptions(inspect.getdoc(estimator) or "")
    options: list[click.Parameter] = []
    for parameter in inspect.signature(estimator).parameters.values():
        if parameter.name in _NOT_OFFERED:
            continue
        words = described.get(parameter.name, "")
        default = "0" if parameter.name == "random_state" else repr(parameter.default)
        option = click.Option(
            [f"--{parameter.name.replace('_', '-')}"],
            metavar="VALUE",
            default=None,
            help=f"{words} [default: {default.strip(chr(39))}]".strip(),
        )
        option.of_estimator = True  # type: ignore[attr-defined]
        options.append(option)
    return options


def _class(name: str) -> Any:
    import multiplane

    return getattr(multiplane, ESTIMATORS[name])


def _descriptions(doc: str) -> dict[str, str]:
    """First sentences of a numpydoc section of parameters."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", doc, re.S | re.M)
    described = {}
    for entry in re.finditer(
        r"^(\w[\w, ]*?) :[^\n]*\n((?: +[^\n]*\n?|\n)*)", section[1] if section else "", re.M
    ):
        words = " ".join(entry[2].split())
        for name in entry[1].split(","):
            described[name.strip()] = re.split(r"(?<=[.;:]) ", words)[0].rstrip(";:.")
    return described


@click.command(cls=Train, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("data", nargs=1)
@click.argument("model", type=click.Path(dir_okay=False, allow_dash=True))
@click.option(
    "-e",
    "--estimator",
    type=click.Choice(list(ESTIMATORS)),
    default="multiplane",
    show_default=True,
    help="Which classifier.",
)
@click.option(
    "--scale-features",
    type=click.Choice(["minmax", "standard", "maxabs"]),
    help="Scale the features; the scale becomes part of the model.",
)
@click.option("--window", type=int, default=8, show_default=True, help="Blocks shuffled together.")
@click.option("--cache", is_flag=True, help="Keep a binary copy of the data for later passes.")
@click.option("--cache-file", metavar="FILE", help="The same under this name; also of a pipe.")
@click.option("--test", metavar="FILE", help="Data to test the model on.")
@click.option("--checkpoint", metavar="FOLDER", help="Keep the training here, and go on from here.")
@click.option(
    "--every", type=Duration(), default="60s", show_default=True, help="Checkpoint so often."
)
@click.option("--for-training", is_flag=True, help="Save what partial_fit needs to go on, too.")
@reading
@_progress.options
def command(
    data: str,
    model: str,
    estimator: str,
    scale_features: str | None,
    window: int,
    cache: bool,
    cache_file: str | None,
    test: str | None,
    checkpoint: str | None,
    every: float,
    for_training: bool,
    reading: dict[str, Any],
    log: str,
    quiet: bool,
    **parameters: Any,
) -> None:
    """Train a classifier on DATA and save it as MODEL.

    Data of any size: rows are read in blocks while others are learnt. Errors shown on the way are
    progressive: each row is predicted before it is learnt.

    \b
    multiplane train data.svm model.mpl
    multiplane train -e amm --max-iter 5 --scale-features standard day.parquet model.mpl
    zcat *.gz | multiplane train -e pegasos - model.mpl
    """
    from multiplane import compile, save
    from multiplane.data import open_source
    from multiplane.data._open import without_strange

    made = _made(estimator, parameters)
    check_folder(model)
    check_output(model, data, *([] if test is None else [test]))
    if test is not None:
        if reading["multilabel"]:
            raise click.UsageError("--test does not count lists of labels: predict them")
        test_reading = without_strange(test, reading)
        if test_reading.get("labels") is not None:
            raise click.UsageError("--labels are those of the data: put a test into an npz file")
        open_source(test, **test_reading)
    source = open_source(data, cache=cache_file or cache, **reading)
    with _progress.chosen(log, quiet) as watcher:
        watcher.say(f"{type(made).__name__} on {data}")
        if hasattr(made, "fit_stream"):
            if source.once and parameters["max_iter"] is None:
                watcher.say(f"{data} can be read only once: one pass; with --cache-file FILE, more")
            given = None if parameters["max_iter"] is None else made._stream_passes(source)
            training = made._stream_training(source, given, None, scale_features, window)
            fitted = _stream(training, checkpoint, every, watcher)
        else:
            if checkpoint or scale_features:
                raise click.UsageError(
                    f"--checkpoint and --scale-features are for classifiers that learn row by row, "
                    f"and {estimator} is none"
                )
            fitted = _whole(made, source, watcher)
        save(fitted, sys.stdout.buffer if model == "-" else model, training=for_training)
        if model != "-":
            watcher.say(f"saved {_in_words(fitted)} to {model}", model=model)
        if checkpoint:
            _checkpoint(checkpoint, every).remove()
        if test is not None:
            from multiplane.cli._evaluate import tested

            result = tested(compile(fitted), test, test_reading)
            said = f"error on {test}: {result.in_words()}"
            watcher.say(said, test_error=result.error, test_rows=result.n_rows)
            if quiet:  # it was asked for, unlike progress
                click.echo(said, err=True)


def _made(name: str, parameters: dict[str, Any]) -> Any:
    given = {key: value_of(value) for key, value in parameters.items() if value is not None}
    estimator = _class(name)
    accepted = inspect.signature(estimator).parameters
    if "random_state" in accepted:  # the same command gives the same bytes
        given.setdefault("random_state", 0)
    made = estimator(**given)
    made._validate_params()
    return made


def _stream(training: Any, folder: str | None, every: float, watcher: Any) -> Any:
    checkpoint = None if folder is None else _checkpoint(folder, every)
    if checkpoint is not None and checkpoint.resume(training):
        watcher.say(f"going on from {checkpoint.path} at row {training.position.rows:,}")

    def watch(progress: Any) -> None:
        watcher(progress)
        if checkpoint is not None:
            checkpoint(progress, training)

    training.run(watch)
    watcher.end()
    return training.estimator


def _checkpoint(folder: str, every: float) -> Any:
    from multiplane.persistence._checkpoints import Checkpoint

    return Checkpoint(folder, every)


def _whole(made: Any, source: Any, watcher: Any) -> Any:
    """Of those that need all rows at once."""
    from sklearn.utils.validation import has_fit_parameter

    X, y, weight = loaded(source, weighs=has_fit_parameter(made, "sample_weight"))
    watcher.say(f"{X.shape[0]:,} rows, {X.shape[1]:,} features")
    if not isinstance(watcher, _progress.Json) and type(watcher) is not _progress.Quiet:
        made.verbose = 1
    with contextlib.redirect_stdout(sys.stderr):
        made.fit(X, y, **({} if weight is None else {"sample_weight": weight}))
    made.verbose = 0
    return made


def _in_words(fitted: Any) -> str:
    fitted = getattr(fitted, "estimator_", fitted)
    name, size = type(fitted).__name__, ""
    if hasattr(fitted, "n_hyperplanes_"):
        size = f" with {fitted.n_hyperplanes_:,} hyperplanes"
    elif hasattr(fitted, "n_support_"):
        size = f" with {fitted.n_support_:,} support vectors"
    return f"{name}{size}"
