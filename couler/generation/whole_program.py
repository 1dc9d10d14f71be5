"""Programs that a model writes as a whole, mends, and changes as users ask for."""

from __future__ import annotations

import typing as t

from pydantic import BaseModel, ConfigDict, Field

from couler.generation.calibration import (
    Candidate,
    ask_critique,
    best_candidate,
    feedback_on,
)
from couler.generation.dialogue import Dialogue
from couler.generation.judging import Verdict, asked_to_mend, numbered, told
from couler.generation.prompting import set_apart

__all__ = ["WholeProgram", "mend_program", "revise_program", "write_program"]


class WholeProgram(BaseModel):
    """A program as a model answers it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    explanation: str = Field(description="In one or two sentences")
    program: str = Field(description="The whole program")


class _Judged(t.NamedTuple):
    program: str
    verdict: Verdict


def write_program(dialogue: Dialogue) -> tuple[str, Verdict]:
    """Return the best program for the description that the model wrote, and what is said of it."""
    return _best(dialogue, "write", "whole", dialogue.description)


def revise_program(dialogue: Dialogue, program: str, feedback: str) -> tuple[str, Verdict]:
    """Return a program changed as a user asks for, the best one, and what is said of it."""
    return _best(
        dialogue,
        "revise",
        "revise",
        feedback,
        program=set_apart(program, "program"),
        wish=set_apart(feedback, "feedback"),
    )


def _best(
    dialogue: Dialogue,
    name: str,
    kind: t.Literal["whole", "revise"],
    query: str,
    **values: str,
) -> tuple[str, Verdict]:
    """Return the best program that a prompt leads to."""
    snippets = dialogue.prompts.snippets(query)
    dialogue.tell_retrieved(one.name for one in snippets)
    description = set_apart(dialogue.description, "description")

    def candidate(before: Candidate[_Judged] | None) -> Candidate[_Judged]:
        feedback = ""
        if before is not None:
            feedback = feedback_on(set_apart(before.code.program, "program"), before.critique)
        prompt = dialogue.prompts.render(
            name, snippets=snippets, description=description, feedback=feedback, **values
        )
        answer = dialogue.ask(prompt, WholeProgram)
        dialogue.tell(kind, answer.explanation)
        found = _Judged(*mend_program(dialogue, answer.program, dialogue.judge(answer.program)))
        if not found.verdict.is_sound or not dialogue.options.calibrate:
            return Candidate(found, found.verdict.errors)
        prompt = dialogue.prompts.render(
            "critique-program",
            snippets=snippets,
            description=description,
            wish=values.get("wish", ""),
            program=set_apart(found.program, "program"),
        )
        return Candidate(found, (), ask_critique(dialogue, prompt))

    return best_candidate(dialogue, candidate).code


def mend_program(dialogue: Dialogue, program: str, verdict: Verdict) -> tuple[str, Verdict]:
    """Return a program after at most `max_repairs` rounds in which what is wrong goes back."""
    for _ in range(dialogue.options.max_repairs):
        if verdict.is_sound:
            break
        dialogue.tell("repair", asked_to_mend(verdict.errors), diagnostics=verdict.errors)
        prompt = dialogue.prompts.render(
            "mend",
            description=set_apart(dialogue.description, "description"),
            program=set_apart(numbered(program), "program"),
            problems=set_apart(told(verdict.errors), "problems"),
        )
        mended = dialogue.ask(prompt, WholeProgram).program
        if mended == program:
            break  # the same question would have the same answer
        program, verdict = mended, dialogue.judge(mended)
    return program, verdict
