"""Asking for a program: by a plain prompt, or by `couler.generation` in its modes."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, replace

from benchmarks.nl.judging import TARGETS
from couler.backends.base import Target
from couler.errors import ConfigurationError
from couler.generation import GenerateOptions, generate_workflow
from couler.generation.judging import TargetSettingError
from couler.llm import LanguageModel, render_prompt

MODES: Mapping[str, GenerateOptions | None] = {
    "plain": None,
    "one-shot": GenerateOptions(max_repairs=0),
    "code": GenerateOptions(),
    "modules": GenerateOptions(mode="modules"),
}
"""By name: a single plain prompt; the first answer; with repairs; Algorithm 1 of the paper."""


TYPICAL_TOKENS: Mapping[str, tuple[int, int]] = {
    "plain": (140, 290),
    "one-shot": (3_280, 220),
    "code": (3_400, 230),
    "modules": (18_200, 1_560),
}
"""By mode: tokens of the prompts and answers of a workflow, as docs/evaluation.md has them."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked for, and how."""

    description: str
    engine: str
    mode: str
    temperature: float
    seed: int


def program_for(question: Question, model: LanguageModel) -> str | None:
    """Return the program that a model writes, by `couler.generation` or by a single prompt."""
    options = MODES[question.mode]
    if options is None:
        prompt = render_prompt("benchmarks.nl", "plain", description=question.description)
        answer = model.ask(prompt, temperature=question.temperature, seed=question.seed)
        return program_in(answer.text)
    options = replace(
        options,
        targets={question.engine: TARGETS.get(question.engine, Target())},
        temperature=question.temperature,
        seed=question.seed,
    )
    try:
        return generate_workflow(question.description, model, options).program
    except TargetSettingError as error:  # as wrong an answer as any that an engine refuses
        return error.program


def check_modes(names: t.Iterable[str]) -> None:
    """Refuse modes that there are not."""
    for name in names:
        if name not in MODES:
            raise ConfigurationError(f'there is no mode "{name}"; there are: {", ".join(MODES)}')


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
