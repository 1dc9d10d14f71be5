"""Algorithm 4: the best hyperparameters by training logs that a language model predicts."""

from __future__ import annotations

import json
import math
import random
import typing as t
from collections.abc import Callable
from dataclasses import dataclass, field

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from couler.errors import LanguageModelError, ModelAnswerError, TuningError
from couler.ir.wording import counted
from couler.llm import LanguageModel, Prompt, render_prompt
from couler.tuning.cards import DataCard, ModelCard, as_data
from couler.tuning.choosing import best_of
from couler.tuning.metrics import Metric
from couler.tuning.outcome import Candidate, Outcome, Point, Used, ranked
from couler.tuning.proposals import ask_for_settings
from couler.tuning.space import Candidates, SearchSpace, key_of, short

_PACKAGE = "couler.tuning"

_POINTS_ASKED = 20
"""How many points of a log the prompt allows; more is no use and costs tokens."""

_EARLIER = 12
"""Of earlier logs a prompt has the best of these."""

_MOST_TEXT = 1000
"""Characters of a reason that are kept."""

Tell: t.TypeAlias = Callable[[str], None]
"""Is told in a line what happens."""


class TuningInterrupted(KeyboardInterrupt):  # it is as little an error as its base
    """Tuning was interrupted."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


@dataclass(frozen=True, kw_only=True)
class TuneOptions:
    """How candidates are found and asked about."""

    rounds: int = 1
    candidates: int = 6
    source: Candidates | None = None
    seed: int = 0
    temperature: float | None = None

    def __post_init__(self) -> None:
        for name in ("rounds", "candidates"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it is at least 1")


def tune(
    data: DataCard,
    model: ModelCard,
    space: SearchSpace,
    language_model: LanguageModel,
    options: TuneOptions = TuneOptions(),
    *,
    tell: Tell = lambda _: None,
) -> Outcome:
    """Choose hyperparameters by predicted training logs; nothing is trained."""
    # The Couler paper, section IV-C and Algorithm 4 (Automatic Hyperparameters Tuning).
    return _Tuning(data, model, space, language_model, options, tell).run()


@dataclass
class _Tuning:
    data: DataCard
    model: ModelCard
    space: SearchSpace
    language_model: LanguageModel
    options: TuneOptions
    tell: Tell
    found: list[Candidate] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    prompts: dict[str, None] = field(default_factory=dict)
    answered_by: str = ""
    waiting: int = 0
    """How many candidates of a round have not been asked about."""
    finished: int = 0
    """The last round that is whole."""
    missing: str = ""

    def run(self) -> Outcome:
        source = self.options.source or self.space.candidates
        if source == "given" and not self.space.given:
            raise TuningError("the search space has no list `given` of candidates. Add one")
        if self.options.rounds > 1 and source in ("given", "grid"):
            raise TuningError(
                f"candidates are {'a given list' if source == 'given' else 'a grid'}, which has 1 "
                f"round, not {self.options.rounds}. Take candidates: random or proposed"
            )
        try:
            self._ask(source)
        except LanguageModelError as error:
            if not ranked(self.found, self.data.metric):
                raise
            self.missing = self._what_is_missing(str(error))
        except KeyboardInterrupt as error:
            if not ranked(self.found, self.data.metric):
                raise
            self.missing = self._what_is_missing("interrupted")
            raise TuningInterrupted(self._outcome()) from error
        return self._outcome()

    def _ask(self, source: Candidates) -> None:
        chance = random.Random(self.options.seed)
        known: set[str] = set()
        for number in range(1, self.options.rounds + 1):
            new = self._new(source, number, chance, known)
            if not new:
                self.tell(f"round {number}: no new candidate")
                continue
            # All of a round see the same earlier logs, whatever their order.
            earlier = self._earlier()
            self.waiting = len(new)
            for origin, setting in new:
                self._add(number, origin, setting, earlier)
                self.waiting -= 1
            self.finished = number

    def _what_is_missing(self, why: str) -> str:
        """Return what there is no log of, and why."""
        rounds = self.options.rounds
        of = f" of round {self.finished + 1}" if rounds > 1 else ""
        told = (
            f"{counted(self.waiting, 'candidate')}{of} without a log"
            if self.waiting
            else f"no candidates{of or ' but those here'}"
        )
        if (later := rounds - self.finished - 1) > 0:
            told += f", {counted(later, 'later round')} not begun"
        return f"{told}: {' '.join(why.split())[:_MOST_TEXT]}"

    def _new(
        self, source: Candidates, number: int, chance: random.Random, known: set[str]
    ) -> list[tuple[t.Any, dict[str, t.Any]]]:
        """Return new candidates, each with how it was found."""
        made: list[tuple[t.Any, dict[str, t.Any]]] = []
        default = self.space.default
        if number == 1 and default is not None:
            made.append(("default", default))
            known.add(key_of(default))
        if source == "given":
            settings = [self.space.exact(one) for one in self.space.given]
        elif source == "grid":
            settings = self.space.grid()
        elif source == "random":
            settings = self.space.draw(self.options.candidates, chance, known)
        else:
            settings = self._proposed(known)
        for setting in settings:
            if key_of(setting) not in known:
                known.add(key_of(setting))
                made.append((source, setting))
        return made

    def _proposed(self, known: set[str]) -> list[dict[str, t.Any]]:
        prompt = self._prompt(
            "tune-propose",
            space=as_data(self.space.for_prompt()),
            count=self.options.candidates,
        )
        found = ask_for_settings(
            self.language_model,
            prompt,
            self.space,
            self.options.candidates,
            known,
            temperature=self.options.temperature,
            seed=self.options.seed,
        )
        self.refused += found.refused
        for one in found.refused:
            self.tell(f"not taken: {one}")
        return found.settings

    def _add(self, number: int, origin: t.Any, setting: dict[str, t.Any], earlier: str) -> None:
        name = f"c{len(self.found) + 1:02}"
        candidate = Candidate(name=name, round=number, origin=origin, parameters=setting)
        prompt = self._prompt(
            "tune-log",
            earlier=earlier,
            setting=as_data(setting),
            least_points=LEAST_POINTS,
            most_points=_POINTS_ASKED,
            range=_range(self.data.metric),
        )
        try:
            answer = self.language_model.ask_for(
                prompt, PredictedLog, temperature=self.options.temperature, seed=self.options.seed
            )
        except ModelAnswerError as error:  # of this candidate; others may be answered well
            problems: tuple[str, ...] = (" ".join(str(error).split())[:_MOST_TEXT],)
            self._keep(candidate.model_copy(update={"problems": problems}))
            return
        self.answered_by = answer.answer.model
        log = answer.value
        problems = tuple(problems_of_log(log, self.data.metric, loss=self.model.loss))
        told: dict[str, t.Any] = {"reason": log.reason[:_MOST_TEXT], "problems": problems}
        if not problems:
            told["predicted"] = log.performance()
            told["unit"] = log.unit
            told["log"] = tuple(Point(**one.model_dump()) for one in log.points)
        self._keep(candidate.model_copy(update=told))

    def _keep(self, candidate: Candidate) -> None:
        self.found.append(candidate)
        told = "; ".join(candidate.problems[:3])
        end = (
            f"left out: {told}"
            if candidate.predicted is None
            else f"predicted {self.data.metric.name} {candidate.predicted:.4g}"
        )
        self.tell(f"{candidate.name} {as_text(candidate.parameters)}: {end}")

    def _prompt(self, name: str, **values: object) -> Prompt:
        prompt = render_prompt(
            _PACKAGE,
            name,
            data_card=self.data.for_prompt(),
            model_card=self.model.for_prompt(),
            metric=self.data.metric.name,
            better="more" if self.data.metric.direction == "maximize" else "less",
            **{"earlier": self._earlier(), **values},
        )
        self.prompts[f"{prompt.name} v{prompt.version}"] = None
        return prompt

    def _earlier(self) -> str:
        """Return the best of the logs so far as data for a prompt; empty where there are none."""
        usable = ranked(self.found, self.data.metric)[:_EARLIER]
        told = [
            {
                "hyperparameters": one.parameters,
                "reason": one.reason,
                "log": [point.model_dump() for point in (one.log[0], one.log[-1])],
            }
            for one in usable
        ]
        return as_data(told) if told else ""

    def _outcome(self) -> Outcome:
        usable = ranked(self.found, self.data.metric)
        if not self.found:
            raise TuningError("there is no candidate: nothing was proposed that is in the space")
        if not usable:
            problems = [f"{one.name}: {'; '.join(one.problems[:3])}" for one in self.found]
            raise TuningError(
                f"none of {counted(len(self.found), 'candidate')} has a predicted log that can be "
                "one. Try again, another model, or another temperature",
                problems,
            )
        usage = self.language_model.usage
        return best_of(
            Outcome(
                data=self.data.name,
                model=self.model.name,
                metric=self.data.metric,
                parameters=usable[0].parameters,
                chosen=usable[0].name,
                why="",
                defaults=self.space.default,
                conditions=self.space.conditions,
                candidates=tuple(self.found),
                refused=tuple(self.refused),
                used=Used(
                    model=self.answered_by,
                    prompts=tuple(self.prompts),
                    calls=usage.calls,
                    prompt_tokens=usage.prompt_tokens,
                    completion_tokens=usage.completion_tokens,
                    cost=usage.cost,
                ),
                missing=self.missing,
            )
        )


def _range(metric: Metric) -> str:
    low = "" if metric.least is None else f" at least {metric.least:g}"
    high = "" if metric.most is None else f" at most {metric.most:g}"
    return "," + " and".join(one for one in (low, high) if one) if low or high else ""


def as_text(setting: t.Mapping[str, object]) -> str:
    """Return a setting as it is told in a line."""
    return " ".join(
        f"{name}={json.dumps(value, ensure_ascii=False, separators=(',', ':'), default=list)}"
        for name, value in setting.items()
    )


LEAST_POINTS = 3
MOST_POINTS = 200
MOST_STEP = 10**9

NOT_NEGATIVE = (
    "absolute",
    "cross_entropy",
    "crossentropy",
    "deviance",
    "hinge",
    "huber",
    "log_loss",
    "logloss",
    "logistic",
    "mae",
    "mape",
    "mse",
    "rmse",
    "squared",
)
"""Losses with one of these in their names are never below 0; others, such as a log-likelihood of
densities, can be."""


def _whole(value: object) -> object:
    """Return 3 for 3.0, which JSON does not tell apart; all else as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class LogPoint(BaseModel):
    """A line of a training log: what holds after a step of training."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    step: t.Annotated[
        int,
        BeforeValidator(_whole),
        Field(description="number of the epoch or iteration, from 1 on"),
    ]
    train_loss: float
    validation_loss: float
    train_metric: float
    validation_metric: float


class PredictedLog(BaseModel):
    """A training log as a language model predicts it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reason: t.Annotated[str, Field(description="why training would go so, in one or two sentences")]
    metric: t.Annotated[str, Field(description="name of the metric, as in the data card")]
    loss: t.Annotated[str, Field(description="name of the loss")]
    unit: t.Literal["epoch", "iteration"]
    points: tuple[LogPoint, ...]

    def performance(self) -> float:
        """Return what the log says of the trained model: the last validation metric."""
        return self.points[-1].validation_metric


def problems_of_log(log: PredictedLog, metric: Metric, *, loss: str = "") -> list[str]:
    """Return why a predicted log cannot be one, each in words; nothing if it can."""
    found: list[str] = []
    if _plain(log.metric) != _plain(metric.name):
        found.append(f'its metric is "{log.metric:.60}", not {metric.name}, that of the data card')
    if len(log.points) < LEAST_POINTS:
        found.append(f"it has {len(log.points)} points, and {LEAST_POINTS} is the least")
    if len(log.points) > MOST_POINTS:
        return [*found, f"it has {len(log.points)} points, and {MOST_POINTS} is the most"]
    must_not_be_negative = any(one in _plain(loss or log.loss) for one in NOT_NEGATIVE)
    before = 0
    for number, point in enumerate(log.points, 1):
        where = f"point {number}"
        if point.step > MOST_STEP:
            found.append(f"{where}: step {short(point.step)} is above {MOST_STEP:,}")
        elif point.step <= before:
            after = f"does not come after {short(before)}" if before else "is below 1"
            found.append(f"{where}: step {short(point.step)} {after}")
        before = max(before, point.step)
        for part in ("train", "validation"):
            value = getattr(point, f"{part}_loss")
            if not math.isfinite(value):
                found.append(f"{where}: {part} loss is {value}, which is no finite number")
            elif value < 0 and must_not_be_negative:
                found.append(f"{where}: {part} loss is {value:g}, and {loss or log.loss} is not")
                found[-1] += " below 0"
            if problem := metric.problem(getattr(point, f"{part}_metric")):
                found.append(f"{where}: {part} {problem}")
    return found


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", "_").replace(" ", "_")
