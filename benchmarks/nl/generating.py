"""Asking for a program: by a plain prompt, or by `couler.generation` with parts of it left out."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, replace

from benchmarks.nl.targets import TARGETS
from couler.backends.base import Target
from couler.errors import ConfigurationError
from couler.generation import GenerateOptions, generate_workflow
from couler.generation.judging import TargetSettingError
from couler.llm import LanguageModel, render_prompt


@dataclass(frozen=True, slots=True)
class Ablation:
    """What of the generation is used."""

    use_rules: bool = False
    use_card: bool = False
    use_lake: bool = False
    calibrate: bool = False
    decompose: bool = False
    repair: bool = False


PLAIN = Ablation()

ABLATIONS: Mapping[str, Ablation] = {
    "plain": PLAIN,
    "rules": Ablation(use_rules=True),
    "card": Ablation(use_rules=True, use_card=True),
    "lake": Ablation(use_lake=True),
    "calibration": Ablation(calibrate=True),
    "all": Ablation(True, True, True, True, True, True),
}
"""By name: a single plain prompt; rules alone and with the card; other parts alone; all parts."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked for, and how."""

    description: str
    engine: str
    ablation: Ablation
    temperature: float
    seed: int


class Generator(t.Protocol):
    """Makes programs of descriptions."""

    def program(self, question: Question, model: LanguageModel) -> str | None:
        """Return the program that a model writes, None if its answer has none."""
        ...


class OwnGenerator:
    """Asks by a single prompt where nothing else is used, and else by `couler.generation`."""

    def program(self, question: Question, model: LanguageModel) -> str | None:
        """Return the program that a model writes."""
        if question.ablation == PLAIN:
            prompt = render_prompt("benchmarks.nl", "plain", description=question.description)
            answer = model.ask(prompt, temperature=question.temperature, seed=question.seed)
            return program_in(answer.text)
        return self._generated(question, model)

    def _generated(self, question: Question, model: LanguageModel) -> str | None:
        ablation = question.ablation
        engine = question.engine
        options = GenerateOptions(
            targets={engine: TARGETS.get(engine, Target())},
            temperature=question.temperature,
            seed=question.seed,
            use_rules=ablation.use_rules,
            use_card=ablation.use_card,
            use_lake=ablation.use_lake,
            calibrate=ablation.calibrate,
            decompose=ablation.decompose,
        )
        if not ablation.repair:
            options = replace(options, max_repairs=0)
        try:
            return generate_workflow(question.description, model, options).program
        except TargetSettingError as error:  # as wrong an answer as any that an engine refuses
            return error.program


def check_ablations(names: t.Iterable[str]) -> None:
    """Refuse ablations that are none."""
    for name in names:
        if name not in ABLATIONS:
            raise ConfigurationError(
                f'there is no ablation "{name}"; there are: {", ".join(ABLATIONS)}'
            )


_BLOCK = re.compile(
    r"^(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=fence)", re.S | re.M
)


def program_in(text: str) -> str | None:
    r"""The program in an answer: its longest block of Python, or all of it without blocks."""
    blocks = [
        block["text"]
        for block in _BLOCK.finditer(text)
        if block["info"].strip().lower() in ("python", "py", "python3", "")
    ]
    if blocks:
        return max(blocks, key=len)
    return text if re.search(r"^(import|from) couler\b", text, re.M) else None
