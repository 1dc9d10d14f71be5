"""Tuning: a language model ranks settings of hyperparameters, and real training corrects it."""

from __future__ import annotations

import json
import math
import typing as t
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from couler.errors import LanguageModelError, ModelAnswerError, TuningError
from couler.hidden import clean_line
from couler.llm import LanguageModel, Message, Parsed, Prompt, render_prompt
from couler.tuning.cards import DataCard, ModelCard, anonymous, as_data
from couler.tuning.estimators import with_defaults
from couler.tuning.outcome import Candidate, ModelUse, Origin, Outcome, RealTraining, choose, ranked
from couler.tuning.predictions import (
    MIN_LOG_POINTS,
    PredictedLog,
    RankedSettings,
    problems_of_log,
)
from couler.tuning.space import SearchSpace, Setting, key_of

M = t.TypeVar("M", PredictedLog, RankedSettings)

MAX_LOG_POINTS = 12  # more points cost tokens and say nothing
MAX_PROPOSAL_TURNS = 3
MAX_PROMPT_SPLITS = 10
MAX_REASON_LENGTH = 1000

Train: t.TypeAlias = Callable[[Mapping[str, Setting]], Mapping[str, RealTraining]]
"""Trains settings by name; its `scoring`, if it has one, replaces that of the data card."""


@dataclass(frozen=True, kw_only=True)
class TuneOptions:
    """Limits of a tuning, and the information that the language model receives.

    `trainings` includes the default setting and holds only where something trains; `rounds` are
    requests that it is divided among. `candidates` are new settings of one request.
    """

    candidates: int = 6
    trainings: int = 8
    rounds: int = 3
    predict_logs: bool = False
    anonymous: bool = False
    seed: int = 0
    temperature: float | None = None

    def __post_init__(self) -> None:
        for name in ("rounds", "candidates", "trainings"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it is at least 1")


@dataclass
class Tuner:
    """Chooses hyperparameters; `outcome` is the best so far, also after an error."""

    # The Couler paper, section IV-C and Algorithm 4 (Automatic Hyperparameters Tuning): it predicts
    # a log for each setting (`predict_logs`) and trains nothing.

    data: DataCard
    model: ModelCard
    space: SearchSpace
    language_model: LanguageModel
    options: TuneOptions = TuneOptions()
    train: Train | None = None
    tell: Callable[[str], None] = lambda _: None
    scoring: str = ""

    def __post_init__(self) -> None:
        self._candidates: dict[str, Candidate] = {}
        self._refused: list[str] = []
        self._prompts: dict[str, None] = {}
        self._answered_by = self._ended_early = ""
        self.scoring = self.scoring or getattr(self.train, "scoring", "")
        model = with_defaults(self.model)
        self._data_card, self._hide = (
            anonymous(self.data) if self.options.anonymous else (self.data, _unchanged)
        )
        texts = ("name", "structure", "description", "loss")
        update: dict[str, t.Any] = {name: self._hide(getattr(model, name)) for name in texts}
        update["hyperparameters"] = self._hidden(model.hyperparameters)
        if (training := model.training) is not None:
            fixed = self._hidden(training.fixed)
            update["training"] = training.model_copy(update={"fixed": fixed})
        self._model_card = model.model_copy(update=update)

    def _hidden(self, values: Mapping[str, t.Any]) -> dict[str, t.Any]:
        """Return hyperparameters without names of the data in their values."""

        def hidden(value: t.Any) -> t.Any:
            if isinstance(value, str):
                return self._hide(value)
            if isinstance(value, Mapping):
                return {self._hide(name): hidden(one) for name, one in value.items()}
            return [hidden(one) for one in value] if isinstance(value, list | tuple) else value

        return {name: hidden(value) for name, value in values.items()}

    def run(self) -> Outcome:
        """Tune, and return the outcome."""
        try:
            self._tune()
        except (LanguageModelError, KeyboardInterrupt) as error:
            self._ended_early = _one_line(error) or "interrupted"
            raise
        if (outcome := self.outcome) is not None:
            return outcome
        problems = [
            f"{one.name}: {why}"
            for one in self._candidates.values()
            for why in (*one.problems, one.real and one.real.problem)
            if why
        ]
        found = [clean_line(one, MAX_REASON_LENGTH) for one in (*problems, *self._refused)]
        raise TuningError("no setting has a score", found)

    @property
    def outcome(self) -> Outcome | None:
        """The outcome so far; None if no candidate has a score."""
        candidates = tuple(self._candidates.values())
        chosen = choose(candidates, self.data.metric)
        if chosen is None:
            return None
        best, why = chosen
        usage = self.language_model.usage
        return Outcome(
            data=self.data.name,
            model=self.model.name,
            metric=self.data.metric,
            scoring=self.scoring or self.data.scoring,
            parameters=best.parameters,
            chosen=best.name,
            why=why + ("; ended early" if self._ended_early else ""),
            defaults=self.space.default,
            conditions=self.space.conditions,
            candidates=candidates,
            refused=tuple(self._refused),
            used=ModelUse(
                model=self._answered_by,
                prompts=tuple(self._prompts),
                calls=usage.calls,
                prompt_tokens=usage.prompt_tokens,
                completion_tokens=usage.completion_tokens,
                cost=usage.cost,
            ),
            ended_early=self._ended_early,
        )

    def _tune(self) -> None:
        default, rounds = self.space.default, self.options.rounds
        first = None if default is None else self._add(default, 0, origin="default")
        if self.train is None:
            self._propose(1)
            return
        if first is not None:  # before any call is paid
            self._train([first])
            real = self._candidates[first].real
            if real is not None and (problem := real.problem):
                raise TuningError(
                    f"the default cannot be trained, so no language model was asked: {problem}"
                )
        for number in range(1, rounds + 1):
            trained = sum(one.real is not None for one in self._candidates.values())
            left = self.options.trainings - trained
            size = math.ceil(left / (rounds - number + 1))
            keys = self._propose(number, size, left) if size else []
            best = ranked((self._candidates[key] for key in keys), self.data.metric)[:size]
            if not best:
                return
            self._train([key_of(one.parameters) for one in best])

    def _propose(self, number: int, size: int = 0, left: int = 0) -> list[str]:
        """Return the keys of the settings of a new answer that were not trained."""
        count = max(self.options.candidates, size)
        with_default = self.space.default is not None and self.train is None
        prompt = self._prompt(
            "tune-settings",
            space=as_data(self.space.for_prompt()),
            count=count,
            with_default=with_default,
            size=size,
            left=left - size,
        )
        keys: list[str] = []
        for _ in range(MAX_PROPOSAL_TURNS):
            answer = self._ask(prompt, RankedSettings)
            refused = []
            for one in answer.value.settings:
                if len(keys) == count + with_default:
                    break
                setting = {named.name: named.value for named in one.parameters}
                if problems := self._problems(setting, one.expected_score, keys):
                    told = f"not taken: {as_data(setting):.300}: {'; '.join(problems):.500}"
                    refused.append(told)
                    self.tell(told)
                    continue
                keys.append(self._add(self.space.exact(setting), number))
                if not self.options.predict_logs:
                    score, reason = one.expected_score, one.reason
                    self._update(keys[-1], predicted=score, reason=reason)
            self._refused += refused
            new = sum(self._candidates[key].origin == "proposed" for key in keys)
            if (missing := max(size, 1) - new) <= 0:
                break
            more = "\n".join((*refused, f"Propose {missing} more new settings, on the same scale."))
            prompt = prompt.followed_by(
                Message("assistant", answer.answer.text), Message("user", more)
            )
        if self.options.predict_logs:
            default = [key for key, one in self._candidates.items() if one.origin == "default"]
            for key in dict.fromkeys((*(default if self.train is None else ()), *keys)):
                self._predict_log(key)
        return keys

    def _problems(self, setting: Setting, score: float, keys: Sequence[str]) -> list[str]:
        """Return why a proposed setting is rejected."""
        problems = self.space.problems(setting)
        if problem := self.data.metric.problem(score):
            problems.append(f"the expected score: {problem}")
        if problems:
            return problems
        key = key_of(self.space.exact(setting))
        is_trained = key in self._candidates and self._candidates[key].real is not None
        return ["it is trained already"] * is_trained + ["it is there twice"] * (key in keys)

    def _predict_log(self, key: str) -> None:
        """Predict the log of a setting; the metric at its end takes the place of its score."""
        prompt = self._prompt(
            "tune-log",
            setting=as_data(self._candidates[key].parameters),
            min_points=MIN_LOG_POINTS,
            max_points=MAX_LOG_POINTS,
        )
        try:
            log = self._ask(prompt, PredictedLog).value
        except ModelAnswerError as error:  # of this setting; others may have a log
            self._update(key, predicted=None, problems=(_one_line(error),))
            return
        problems = tuple(problems_of_log(log, self.data.metric))
        end = None if problems else log.points[-1].validation_metric
        points = () if problems else log.points
        self._update(key, predicted=end, reason=log.reason, log=points, problems=problems)

    def _train(self, keys: Sequence[str]) -> None:
        assert self.train is not None
        names = {self._candidates[key].name: key for key in keys}
        self.tell(f"training {', '.join(names)}")
        real = self.train({name: self._candidates[key].parameters for name, key in names.items()})
        for name, key in names.items():
            self._update(key, real=real[name])

    def _add(self, setting: Setting, number: int, *, origin: Origin = "proposed") -> str:
        """Return the key of a setting, which is a candidate from now on."""
        key, name = key_of(setting), f"c{len(self._candidates) + 1:02}"
        new = Candidate(name=name, round=number, origin=origin, parameters=dict(setting))
        known = self._candidates.get(key, new)
        self._candidates[key] = known.model_copy(update={"round": number})
        return key

    def _update(self, key: str, **values: t.Any) -> None:
        """Store what is new of a candidate, and report it."""
        if "reason" in values:
            values["reason"] = values["reason"][:MAX_REASON_LENGTH]
        one = self._candidates[key] = self._candidates[key].model_copy(update=values)
        name, setting = self.data.metric.name, as_text(one.parameters)
        if one.real is not None:
            end = one.real.problem or f"real {name} {one.real_mean:.4g}"
        elif one.predicted is None:
            end = f"left out: {'; '.join(one.problems[:3])}"
        else:
            end = f"predicted {name} {one.predicted:.4g}"
        self.tell(f"{one.name} {setting}: {end}")

    def _ask(self, prompt: Prompt, schema: type[M]) -> Parsed[M]:
        options = self.options
        found = self.language_model.ask_for(
            prompt, schema, temperature=options.temperature, seed=options.seed
        )
        self._answered_by = found.answer.model
        return found

    def _prompt(self, name: str, **values: object) -> Prompt:
        metric = self.data.metric
        prompt = render_prompt(
            "couler.tuning",
            name,
            data_card=self._data_card.for_prompt(),
            model_card=self._model_card.for_prompt(self.space.parameters),
            scoring=as_data(
                self.scoring or self._data_card.scoring or f"{metric.name} on rows held out"
            ),
            trained=self._trained(),
            metric=metric.name,
            better="higher" if metric.direction == "maximize" else "lower",
            range=metric.range,
            **values,
        )
        self._prompts[f"{prompt.name} v{prompt.version}"] = None
        return prompt

    def _trained(self) -> str:
        """Return the real scores so far as data of a prompt, the best first."""
        candidates = self._candidates.values()
        told: list[dict[str, t.Any]] = [
            {
                "hyperparameters": one.parameters,
                "score": float(f"{one.real_mean:.3g}"),
                "splits": [float(f"{score:.3g}") for score in one.real.scores[:MAX_PROMPT_SPLITS]],
            }
            for one in ranked(candidates, self.data.metric, is_real=True)
            if one.real is not None
        ]
        told += [
            {"hyperparameters": one.parameters, "failed": self._hide(one.real.problem)}
            for one in candidates
            if one.real is not None and one.real.problem is not None
        ]
        return as_data(told) if told else ""


def as_text(setting: Setting) -> str:
    """Return a setting in a line."""
    return " ".join(
        f"{name}={json.dumps(value, ensure_ascii=False, separators=(',', ':'), default=list)}"
        for name, value in setting.items()
    )


def _unchanged(text: str) -> str:
    return text


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:MAX_REASON_LENGTH]
