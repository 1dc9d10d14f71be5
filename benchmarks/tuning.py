"""Hyperparameters by defaults, random search, Optuna and a language model, at equal trainings.

Two models (gradient boosting, a small neural network) on four sets of scikit-learn. Each method
has the same number of real trainings, each a cross validation with fixed folds, and its best by
these is trained once more on all of those rows and judged on rows that no method has seen. The
default setting is the first training of every method.

    python benchmarks/tuning.py [--json OUT] [--seed N] [--quick] [--seeds N] [--trainings N]
                                [--jobs N] [--scripted]

`default` is the default alone, one training. `random` draws from the space. `optuna` is the TPE of
Optuna, a third of whose trainings are random (by default it would draw ten before it models). `llm`
is Algorithm 4 of the Couler paper: logs are predicted for candidates that the model proposes in two
rounds, and the best by these logs are trained; the data card tells only of the rows trained on. If
fewer have a log than may be trained, random candidates fill up, so that trainings are equal; how
many is in the column `filled`. It asks the endpoint of the settings
(`COULER_LLM_*`, `[tool.couler.llm]`); without one the row is left out, and says so. Budgets of
tokens and money hold for each data set, model and seed. A method that ends with an error on a task
has no row there, and the reason is told; all others go on.

Defaults are those of scikit-learn. The network has its inputs scaled, and for diabetes its target
as well, by the rows trained on: for every method, the default too.

`--scripted` has a server on this machine answer in place of an endpoint: it predicts that a setting
is the better, the nearer it is to the default. That is no language model. The row is called
`llm (scripted)` wherever it is printed or written, and says nothing but that all of it runs.

The columns: the score on the rows held out (accuracy, or R squared for diabetes), mean and standard
deviation over seeds; the mean score in cross validation; the mean rank among methods, over data,
models and seeds; for `llm`, Spearman's correlation of what was predicted and real. It is over the
candidates that were trained, which are those predicted best: of a whole space it tells nothing.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import random
import statistics
import sys
import typing as t
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from workloads.tuning_tasks import DATA, MODELS, Task

from couler.cli.language_model import LlmFlags, found_settings
from couler.cli.session import Session
from couler.errors import ConfigurationError, CoulerError
from couler.llm import LlmSettings, open_model
from couler.tuning.algorithm4 import TuneOptions, tune
from couler.tuning.cards import as_data
from couler.tuning.outcome import ranked
from couler.tuning.ranks import spearman
from couler.tuning.space import Parameter, Setting, key_of
from tests.fakes.llm import ScriptedServer

SCHEMA_VERSION = 1
DEFAULT, RANDOM, OPTUNA, LLM = "default", "random", "optuna", "llm"
SCRIPTED = "llm (scripted)"
ROUNDS = 2


@dataclass(frozen=True)
class Row:
    """What a method came to on a task."""

    data: str
    model: str
    seed: int
    method: str
    trainings: int
    validation: float
    test: float
    correlation: float | None = None
    scripted: bool = False
    filled: int = 0
    """How many of the trainings were of random candidates, for want of others."""


@dataclass(frozen=True)
class Failure:
    """A method that ended with an error on a task."""

    data: str
    model: str
    seed: int
    method: str
    reason: str


@dataclass(frozen=True)
class Options:
    trainings: int
    folds: int
    methods: tuple[str, ...]


class Found(t.NamedTuple):
    """The settings that were trained, and what is known of predictions."""

    tried: list[dict[str, t.Any]]
    correlation: float | None = None
    filled: int = 0


def by_default(task: Task, trainings: int) -> Found:
    return Found([_default(task)])


def by_chance(task: Task, trainings: int) -> Found:
    first = _default(task)
    drawn = task.space.draw(trainings - 1, random.Random(task.seed), {key_of(first)})
    return Found([first, *drawn])


def by_optuna(task: Task, trainings: int) -> Found:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space, tried = task.space.parameters, []

    def objective(trial: t.Any) -> float:
        setting = {name: _suggested(trial, name, one) for name, one in space.items()}
        tried.append(setting)
        return task.train(setting)

    sampler = optuna.samplers.TPESampler(
        seed=task.seed, n_startup_trials=max(2, math.ceil(trainings / 3))
    )
    study = optuna.create_study(direction="maximize", sampler=sampler)
    first = {
        name: value if space[name].values is None else _place(space[name], value)
        for name, value in _default(task).items()
    }
    study.enqueue_trial(first)
    study.optimize(objective, n_trials=trainings)
    return Found(tried)


def _suggested(trial: t.Any, name: str, one: Parameter) -> t.Any:
    if one.values is not None:  # by their places, as lists are no values of Optuna
        return one.values[trial.suggest_categorical(name, range(len(one.values)))]
    if one.type == "int":
        return trial.suggest_int(name, int(one.low or 0), int(one.high or 0), log=one.log)
    return trial.suggest_float(name, one.low, one.high, log=one.log)


def _place(one: Parameter, value: t.Any) -> int:
    return list(one.values or ()).index(value)


def by_model(task: Task, trainings: int) -> Found:
    """Ask the endpoint of the settings."""
    settings = found_settings(Session(), LlmFlags()).settings
    return _predicted(
        task,
        trainings,
        settings,
        TuneOptions(rounds=ROUNDS, candidates=trainings, seed=task.seed, source="proposed"),
    )


def by_script(task: Task, trainings: int) -> Found:
    """Ask a server that answers by a fixed rule: the nearer to the default, the better."""
    options = TuneOptions(candidates=ROUNDS * trainings, seed=task.seed, source="random")
    first = _default(task)
    drawn = task.space.draw(options.candidates, random.Random(task.seed), {key_of(first)})
    rules = [_rule(task, setting) for setting in (first, *drawn)]
    with ScriptedServer(rules) as server:
        settings = LlmSettings(base_url=server.base_url, model="scripted", api_key="none")
        return _predicted(task, trainings, settings, options)


def _predicted(task: Task, trainings: int, settings: LlmSettings, options: TuneOptions) -> Found:
    data, model = task.cards()
    with open_model(settings) as language_model:
        outcome = tune(data, model, task.space, language_model, options)
    best = ranked(outcome.candidates, outcome.metric)
    others = [one for one in best if one.origin != "default"][: trainings - 1]
    tried = [_default(task), *(dict(one.parameters) for one in others)]
    predicted = [-outcome.metric.rank(one.predicted or 0.0) for one in others]
    real = [task.train(one.parameters) for one in others]
    known = {key_of(one) for one in tried}
    filling = task.space.draw(trainings - len(tried), random.Random(task.seed), known)
    correlation = spearman(predicted, real) if len(others) > 2 else None
    return Found(tried + filling, correlation, len(filling))


def _rule(task: Task, setting: Setting) -> dict[str, t.Any]:
    """Return the answer to a setting: a log that ends at 0.95 less half of its distance."""
    default, space = _default(task), task.space.parameters
    distances = [_distance(space[name], value, default[name]) for name, value in setting.items()]
    end = 0.95 - 0.5 * sum(distances) / len(distances)
    points = [
        {
            "step": step,
            "train_loss": 1.0 / step,
            "validation_loss": 1.1 / step,
            "train_metric": end * (1 - 0.5 / step),
            "validation_metric": end if step == 5 else end * (1 - 0.5 / step),
        }
        for step in range(1, 6)
    ]
    log = {
        "reason": "A fixed rule of this benchmark: the nearer to the default, the better.",
        "metric": task.metric,
        "loss": "squared_error" if task.is_regression else "log_loss",
        "unit": "epoch",
        "points": points,
    }
    last = f"<hyperparameters>{as_data(setting)}</hyperparameters>"
    return {"when": {"prompt": "tune-log", "last": last}, "reply": {"json": log}}


def _distance(one: Parameter, value: t.Any, default: t.Any) -> float:
    """Return how far a value is from the default, from 0 to 1."""
    if one.values is not None:
        return float(value != default)
    low, high = one.low or 0.0, one.high or 0.0
    scale: Callable[[float], float] = math.log if one.log else float
    return abs(scale(value) - scale(default)) / (scale(high) - scale(low))


def _default(task: Task) -> dict[str, t.Any]:
    found = task.space.default
    assert found is not None, "all spaces of this benchmark have defaults"
    return found


METHODS: dict[str, Callable[[Task, int], Found]] = {
    DEFAULT: by_default,
    RANDOM: by_chance,
    OPTUNA: by_optuna,
    LLM: by_model,
    SCRIPTED: by_script,
}


def measure(place: tuple[str, str, int], options: Options) -> tuple[list[Row], list[Failure]]:
    """Return what each method comes to on one task, and which ended with an error."""
    data, model, seed = place
    task = Task(data, model, seed, options.folds)
    rows, failures = [], []
    for method in options.methods:
        try:
            tried, correlation, filled = METHODS[method](task, options.trainings)
        except CoulerError as error:  # of an endpoint or its answers
            reason = " ".join(str(error).split())[:500]
            failures.append(Failure(data, model, seed, method, reason))
            continue
        wanted = 1 if method == DEFAULT else options.trainings
        if len(tried) != wanted:
            raise RuntimeError(f"{method} has {len(tried)} trainings, not {wanted}")
        best = max(tried, key=task.train)
        rows.append(
            Row(
                data,
                model,
                seed,
                method,
                len(tried),
                task.train(best),
                task.judge(best),
                correlation,
                method == SCRIPTED,
                filled,
            )
        )
    return rows, failures


def table(rows: Sequence[Row]) -> list[str]:
    """Return the lines of the tables."""
    lines = [
        f"{'data':14}{'model':10}{'method':16}{'trainings':>10}{'filled':>8}{'test':>9}{'+-':>8}{'cv':>9}"
    ]
    methods = list(dict.fromkeys(row.method for row in rows))
    for data, model in dict.fromkeys((row.data, row.model) for row in rows):
        for method in methods:
            mine = [
                row for row in rows if (row.data, row.model, row.method) == (data, model, method)
            ]
            if not mine:
                continue
            test = [row.test for row in mine]
            spread = f"{statistics.stdev(test):.4f}" if len(test) > 1 else "-"
            lines.append(
                f"{data:14}{model:10}{method:16}{mine[0].trainings:>10}"
                f"{sum(row.filled for row in mine) / len(mine):>8.3g}"
                f"{statistics.mean(test):>9.4f}{spread:>8}"
                f"{statistics.mean(row.validation for row in mine):>9.4f}"
            )
    lines += ["", f"{'method':16}{'mean rank, test':>16}{'mean rank, cv':>15}"]
    for method in methods:
        ranks = [_mean_rank(rows, method, key) for key in ("test", "validation")]
        lines.append(f"{method:16}{ranks[0]:>16.2f}{ranks[1]:>15.2f}")
    for method in (LLM, SCRIPTED):
        known = [row for row in rows if row.method == method and row.correlation is not None]
        if known:
            counts = [row.trainings - 1 - row.filled for row in known]
            of = (
                f"{min(counts)}"
                if min(counts) == max(counts)
                else f"{min(counts)} to {max(counts)}"
            )
            lines.append(
                f"{method}: Spearman of predicted and real, over the candidates predicted best, "
                f"{statistics.mean(row.correlation or 0.0 for row in known):.2f}, n = {of} each, "
                f"mean of {len(known)}"
            )
    return lines


def _mean_rank(rows: Sequence[Row], method: str, key: str) -> float:
    """Return the mean place of a method among all, 1 for the best; equals share the mean place."""
    ranks = []
    for mine in (row for row in rows if row.method == method):
        others = [
            getattr(row, key)
            for row in rows
            if (row.data, row.model, row.seed) == (mine.data, mine.model, mine.seed)
        ]
        own = getattr(mine, key)
        better, equal = sum(one > own for one in others), sum(one == own for one in others)
        ranks.append(better + (equal + 1) / 2)
    return statistics.mean(ranks)


def chosen_methods(is_scripted: bool) -> tuple[list[str], list[str]]:
    """Return the methods that can run here, and why others cannot."""
    methods, left_out = [DEFAULT, RANDOM], []
    if importlib.util.find_spec("optuna") is None:
        left_out.append("optuna is left out: it is not installed (pip install 'couler[bench]')")
    else:
        methods.append(OPTUNA)
    if is_scripted:
        methods.append(SCRIPTED)
        return methods, left_out
    try:
        with open_model(found_settings(Session(), LlmFlags()).settings):
            methods.append(LLM)
    except ConfigurationError as error:
        left_out.append(f"llm is left out: {error}")
    return methods, left_out


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all rows there")
    parser.add_argument("--seed", type=int, default=1, help="the first; default %(default)s")
    parser.add_argument("--seeds", type=int, default=3, help="how many; default %(default)s")
    parser.add_argument("--trainings", type=int, default=8, help="of each; default %(default)s")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--quick", action="store_true", help="2 sets, 2 seeds, 3 trainings")
    parser.add_argument("--scripted", action="store_true", help="a script in place of a model")
    asked = parser.parse_args(arguments)
    data, seeds, trainings, folds = DATA, asked.seeds, asked.trainings, 3
    if asked.quick:
        data, seeds, trainings, folds = ("diabetes", "wine"), 2, 3, 2
    methods, left_out = chosen_methods(asked.scripted)
    for one in left_out:
        print(one)
    if asked.scripted:
        print(f'"{SCRIPTED}" is a fixed rule of this benchmark and no language model.')
    options = Options(trainings, folds, tuple(methods))
    places = [
        (name, model, asked.seed + number)
        for name in data
        for model in MODELS
        for number in range(seeds)
    ]
    print(f"{trainings} trainings each, {folds} folds, {seeds} seeds from {asked.seed}\n")
    with ProcessPoolExecutor(asked.jobs) as pool:
        rows: list[Row] = []
        failures: list[Failure] = []
        for place, found in zip(
            places, pool.map(measure, places, [options] * len(places)), strict=True
        ):
            rows += found[0]
            failures += found[1]
            print(f"{' '.join(map(str, place))}: done", file=sys.stderr)
    print("\n".join(table(rows)))
    for one in failures:
        print(f"{one.method} has no row of {one.data} {one.model} {one.seed}: {one.reason}")
    if asked.json is not None:
        whole = {
            "schema_version": SCHEMA_VERSION,
            "seed": asked.seed,
            "seeds": seeds,
            "trainings": trainings,
            "folds": folds,
            "left_out": left_out,
            "failures": [asdict(one) for one in failures],
            "rows": [asdict(row) for row in rows],
        }
        asked.json.write_text(json.dumps(whole, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
