"""Step 3 of Algorithm 1: a model scores what it wrote, and writes anew while the score is low."""

from __future__ import annotations

import typing as t
from collections.abc import Callable
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from couler.generation.dialogue import Dialogue
from couler.generation.prompting import set_apart
from couler.ir.diagnostics import Diagnostic
from couler.llm import Prompt

C = t.TypeVar("C")


class Critique(BaseModel):
    """What a model says of code that it wrote."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    problems: tuple[str, ...] = Field(description="What is missing or wrong; empty if nothing is")
    advice: str = Field(description="How to mend it, in a few sentences")
    score: float = Field(ge=0, le=1, description="0: does something else; 1: nothing to mend")


@dataclass(frozen=True, slots=True)
class Candidate(t.Generic[C]):
    """Code, and what is to be said of it."""

    code: C
    errors: tuple[Diagnostic, ...]
    critique: Critique | None = None

    @property
    def rank(self) -> tuple[bool, float, int]:
        """What candidates are compared by: that it builds, the score, how little is wrong."""
        score = 0.0 if self.critique is None else self.critique.score
        return not self.errors, score, -len(self.errors)


def best_candidate(
    dialogue: Dialogue, write: Callable[[Candidate[C] | None], Candidate[C]]
) -> Candidate[C]:
    """Return the best of the candidates that a model writes."""
    options = dialogue.options
    best = write(None)
    for _ in range(options.max_regenerations):
        if best.critique is None or best.critique.score >= options.baseline_score:
            break
        best = max(best, write(best), key=lambda one: one.rank)
    return best


def ask_critique(dialogue: Dialogue, prompt: Prompt, *, module: str | None = None) -> Critique:
    """Return what the model says of code, and log it."""
    critique = dialogue.ask(prompt, Critique)
    baseline = dialogue.options.baseline_score
    said = f"below {baseline:g}" if critique.score < baseline else "good enough"
    problems = f": {'; '.join(critique.problems)}" if critique.problems else ""
    dialogue.tell(
        "critique",
        f"score {critique.score:.2f}, {said}{problems}",
        module=module,
        score=critique.score,
    )
    return critique


def feedback_on(shown: str, critique: Critique | None) -> str:
    """Return code and what was said of it, for the next attempt."""
    if critique is None:
        return shown
    said = "\n".join([*(f"- {one}" for one in critique.problems), critique.advice])
    return f"{shown}\n{set_apart(said, 'feedback')}"
