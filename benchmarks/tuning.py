"""Hyperparameters by defaults, random search, Optuna and a language model, at equal trainings.

Two models (gradient boosting, a small neural network) on four sets of scikit-learn, and kernel
ridge regression on generated rows whose best setting is known. Each method has the same number of
real trainings, each a cross validation with fixed folds; its best by these is trained once more on
all of those rows and judged on rows that no method has seen. The default setting is the first
training of every method.

    python benchmarks/tuning.py [--tasks DATA/MODEL,...] [--seed N] [--seeds N] [--trainings N]
                                [--rounds N] [--folds N] [--jobs N]
                                [--record FILE | --replay FILE] [--json OUT]

`default` is the default alone, one training. `random` draws from the space. `optuna` is the TPE of
Optuna, a third of whose trainings are random (by default it would draw ten before it models).

`llm` is `couler tune --validate` with its joint ranking: `--rounds` requests, each with the real
scores of the settings trained before. `llm logs` is Algorithm 4 of the Couler paper: one request
proposes settings, one more for each predicts its training log, and the best by these logs are
trained; with one round for each training, `llm` takes about as many tokens. `anonymous` is the same
without the names of data, columns and classes. All see only the rows trained on. If fewer settings
are proposed than may be trained, random ones fill up, so that trainings are equal; the column
`filled` counts them. They call the endpoint of the settings (`COULER_LLM_*`, `[tool.couler.llm]`);
without one their rows are left out. `--record` writes all requests and answers to a file,
`--replay` answers from it. A method that ends with an error on a task has no row there, and the
reason is printed.

Defaults are those of scikit-learn. The network has its inputs scaled, and for diabetes its target
as well, by the rows trained on: for every method, the default too.

The generated rows are drawn from a Gaussian process with a Gaussian kernel and noise; kernel ridge
regression with that kernel and with the variance of the noise as alpha is its best predictor. The
row `optimum` is that setting. Their names say nothing, so `anonymous` would send the same requests
there: equal requests of a task are sent once, and count for each method.

The columns: the score on the rows held out (accuracy, or R squared for regression), mean and
standard deviation over seeds; the mean score in cross validation; calls and tokens of a task. Then
the mean rank among methods over data, models and seeds, and Spearman's correlation of predicted and
real scores over the settings that were trained, which are those predicted best: of a whole space it
tells nothing.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import math
import os
import statistics
import sys
import typing as t
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from workloads.tuning_tasks import TASKS, Task, draw

from couler.cli.language_model import LlmFlags, found_settings
from couler.cli.session import Session
from couler.errors import ConfigurationError, CoulerError, ModelAnswerError
from couler.llm import Answer, LanguageModel, LlmSettings, Parsed, Prompt, Usage, open_model
from couler.llm.dialogue import M
from couler.tuning.space import Parameter, key_of
from couler.tuning.tuner import TuneOptions, Tuner

SCHEMA_VERSION = 2
OPTIONS = ("seed", "seeds", "trainings", "rounds", "folds")
DEFAULT, OPTUNA, OPTIMUM = "default", "optuna", "optimum"
EXTRA_CANDIDATES = 2
"""Settings of a request beyond those that may be trained, so that there is a choice."""


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
    filled: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True)
class FailedMethod:
    """A method that ended with an error on a task."""

    data: str
    model: str
    seed: int
    method: str
    reason: str


class SharedModel:
    """A language model that sends equal requests once, and counts them for each method."""

    def __init__(self, model: LanguageModel, answers: dict[t.Any, t.Any]) -> None:
        self._model = model
        self._answers = answers
        self.usage = Usage()

    def ask_for(
        self,
        prompt: Prompt,
        schema: type[M],
        *,
        temperature: float | None = None,
        seed: int | None = None,
    ) -> Parsed[M]:
        key = (prompt, schema)
        if key not in self._answers:
            try:
                self._answers[key] = self._model.ask_for(
                    prompt, schema, temperature=temperature, seed=seed
                )
            except ModelAnswerError as error:
                if error.answer is not None:
                    self.usage += error.answer.usage
                raise
        found: Parsed[M] = self._answers[key]
        self.usage += found.answer.usage
        return found

    def ask(
        self, prompt: Prompt, *, temperature: float | None = None, seed: int | None = None
    ) -> Answer:
        return self._model.ask(prompt, temperature=temperature, seed=seed)


class Found(t.NamedTuple):
    """The settings that were trained, and what is known of predictions."""

    tried: list[dict[str, t.Any]]
    correlation: float | None = None
    filled: int = 0
    usage: Usage = Usage()


Method: t.TypeAlias = Callable[[Task, int], Found]


def by_default(task: Task, trainings: int) -> Found:
    return Found([_default(task)])


def by_chance(task: Task, trainings: int) -> Found:
    first = _default(task)
    return Found([first, *draw(task.space, trainings - 1, task.seed, {key_of(first)})])


def by_optuna(task: Task, trainings: int) -> Found:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space, tried = task.space, []

    def objective(trial: t.Any) -> float:
        setting: dict[str, t.Any] = {}
        for name, one in space.parameters.items():
            if space.is_there(one, setting):
                setting[name] = _suggested(trial, name, one)
        tried.append(setting)
        return task.train(setting)

    sampler = optuna.samplers.TPESampler(
        seed=task.seed, n_startup_trials=max(2, math.ceil(trainings / 3))
    )
    study = optuna.create_study(direction="maximize", sampler=sampler)
    first = {
        name: value if (listed := space.parameters[name].values) is None else listed.index(value)
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


def by_model(
    task: Task,
    trainings: int,
    model: SharedModel,
    rounds: int,
    *,
    logs: bool = False,
    anonymous: bool = False,
) -> Found:
    data, card = task.cards()
    options = TuneOptions(
        candidates=trainings - 1 + EXTRA_CANDIDATES,
        trainings=trainings,
        rounds=1 if logs else rounds,
        predict_logs=logs,
        anonymous=anonymous,
        seed=task.seed,
    )
    outcome = Tuner(data, card, task.space, model, options, train=task.train_all).run()
    tried = [dict(one.parameters) for one in outcome.candidates if one.real is not None]
    known = {key_of(one) for one in tried}
    filling = draw(task.space, trainings - len(tried), task.seed, known)
    correlation, _ = outcome.rank_correlation
    return Found([*tried, *filling], correlation, len(filling), model.usage)


def _default(task: Task) -> dict[str, t.Any]:
    found = task.space.default
    assert found is not None, "all spaces of this benchmark have defaults"
    return found


MODES = {
    "llm": by_model,
    "llm anonymous": functools.partial(by_model, anonymous=True),
    "llm logs": functools.partial(by_model, logs=True),
    "llm logs anonymous": functools.partial(by_model, logs=True, anonymous=True),
}


def has_optuna() -> bool:
    return importlib.util.find_spec("optuna") is not None


def methods_of(model: LanguageModel | None, rounds: int = 2) -> dict[str, Method]:
    """Return the methods for one task; they share the answers of the language model."""
    methods: dict[str, Method] = {DEFAULT: by_default, "random": by_chance, OPTUNA: by_optuna}
    if not has_optuna():
        del methods[OPTUNA]
    if model is not None:
        answers: dict[t.Any, t.Any] = {}
        for name, mode in MODES.items():
            shared = SharedModel(model, answers)
            methods[name] = functools.partial(mode, model=shared, rounds=rounds)
    return methods


def measure(
    task: Task, trainings: int, methods: dict[str, Method]
) -> tuple[list[Row], list[FailedMethod]]:
    """Return what each method comes to on one task, and which ended with an error."""
    place = (task.data, task.model, task.seed)
    rows, failures = [], []
    for method, find in methods.items():
        try:
            found = find(task, trainings)
        except CoulerError as error:  # of an endpoint or its answers
            failures.append(FailedMethod(*place, method, " ".join(str(error).split())[:500]))
            continue
        wanted = 1 if method == DEFAULT else trainings
        if len(found.tried) != wanted:
            raise RuntimeError(f"{method} has {len(found.tried)} trainings, not {wanted}")
        best, usage = max(found.tried, key=task.train), found.usage
        scores = task.train(best), task.judge(best)
        used = usage.calls, usage.prompt_tokens, usage.completion_tokens
        rows.append(Row(*place, method, wanted, *scores, found.correlation, found.filled, *used))
    if (optimum := task.optimum) is not None:
        rows.append(Row(*place, OPTIMUM, 1, task.train(optimum), task.judge(optimum)))
    return rows, failures


def table(rows: Sequence[Row]) -> list[str]:
    """Return the lines of the tables."""
    used = f"{'calls':>7}{'tokens':>9}"
    head = f"{'data':14}{'model':10}{'method':20}{'trainings':>10}{'filled':>8}{'test':>9}{'+-':>8}"
    lines = [f"{head}{'cv':>9}{used}"]
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
                f"{data:14}{model:10}{method:20}{mine[0].trainings:>10}"
                f"{statistics.mean(row.filled for row in mine):>8.3g}"
                f"{statistics.mean(test):>9.4f}{spread:>8}"
                f"{statistics.mean(row.validation for row in mine):>9.4f}{_used(mine)}"
            )
    head = f"{'method':20}{'mean rank, test':>16}{'mean rank, cv':>15}"
    lines += ["", f"{head}{used}{'Spearman':>10}"]
    ranked = [row for row in rows if row.method != OPTIMUM]
    for method in (one for one in methods if one != OPTIMUM):
        mine = [row for row in ranked if row.method == method]
        ranks = [_mean_rank(ranked, method, key) for key in ("test", "validation")]
        known = [row.correlation for row in mine if row.correlation is not None]
        correlation = f"{statistics.mean(known):.2f}" if known else "-"
        lines.append(f"{method:20}{ranks[0]:>16.2f}{ranks[1]:>15.2f}{_used(mine)}{correlation:>10}")
    return lines


def _used(rows: Sequence[Row]) -> str:
    """Return the mean calls and tokens of a task."""
    calls = statistics.mean(row.calls for row in rows)
    tokens = statistics.mean(row.prompt_tokens + row.completion_tokens for row in rows)
    return f"{calls:>7.3g}{tokens:>9,.0f}"


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


def opened(stack: ExitStack, flags: LlmFlags) -> LanguageModel | None:
    """Return the language model of the settings or of a recording; None says why."""
    try:
        settings = (
            LlmSettings() if flags.replay is not None else found_settings(Session(), flags).settings
        )
        return stack.enter_context(open_model(settings, record=flags.record, replay=flags.replay))
    except ConfigurationError as error:
        if flags.record is not None or flags.replay is not None:
            raise
        print(f"llm is left out: {error}")
        return None


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = {"/".join(one): one for one in TASKS}
    parser.add_argument("--tasks", default=",".join(names), help="default %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="the first; default %(default)s")
    parser.add_argument("--seeds", type=int, default=3, help="how many; default %(default)s")
    parser.add_argument("--trainings", type=int, default=5, help="of each; default %(default)s")
    parser.add_argument("--rounds", type=int, default=2, help="of llm; default %(default)s")
    parser.add_argument("--folds", type=int, default=3, help="of a training; default %(default)s")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="tasks at a time")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write all answers there")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="answer from such a file")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all rows there")
    asked = parser.parse_args(arguments)
    chosen = asked.tasks.split(",")
    if unknown := set(chosen) - set(names):
        parser.error(
            f"--tasks: there is no {', '.join(sorted(unknown))}; there are {', '.join(names)}"
        )
    for name, least in (("seeds", 1), ("trainings", 2), ("rounds", 1), ("folds", 2), ("jobs", 1)):
        if getattr(asked, name) < least:
            parser.error(f"--{name} is at least {least}")
    tasks = [
        Task(*names[one], asked.seed + number, asked.folds)
        for one in chosen
        for number in range(asked.seeds)
    ]
    if not has_optuna():
        print("optuna is left out: it is not installed (pip install 'couler[bench]')")
    rows: list[Row] = []
    failures: list[FailedMethod] = []
    with ExitStack() as stack:
        model = opened(stack, LlmFlags(record=asked.record, replay=asked.replay))

        def run(task: Task) -> tuple[list[Row], list[FailedMethod]]:
            found = measure(task, asked.trainings, methods_of(model, asked.rounds))
            print(f"{task.data} {task.model} {task.seed}: done", file=sys.stderr)
            return found

        for found in stack.enter_context(ThreadPoolExecutor(asked.jobs)).map(run, tasks):
            rows += found[0]
            failures += found[1]
    print(f"{asked.trainings} trainings each, {asked.folds} folds, {asked.seeds} seeds\n")
    print("\n".join(table(rows)))
    for one in failures:
        print(f"{one.method} has no row of {one.data} {one.model} {one.seed}: {one.reason}")
    if asked.json is not None:
        whole = {
            "schema_version": SCHEMA_VERSION,
            **{name: getattr(asked, name) for name in OPTIONS},
            "tasks": chosen,
            "scores": {
                f"{one.data}/{one.model}/{one.seed}": {
                    key: real.model_dump(mode="json") for key, real in one.known.items()
                }
                for one in tasks
            },
            "failures": [asdict(one) for one in failures],
            "rows": [asdict(row) for row in rows],
        }
        asked.json.write_text(json.dumps(whole, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
