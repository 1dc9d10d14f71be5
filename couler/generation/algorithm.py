"""From a description to a workflow: as a program in one answer, module by module, or as a form."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from couler.box.text_checks import MOST_CHARACTERS
from couler.errors import ConfigurationError, ModelAnswerError
from couler.generation.dialogue import Dialogue
from couler.generation.judging import (
    Build,
    judge_workflow,
    numbered,
    repair_message,
    told,
    with_failed_run,
)
from couler.generation.lake import CodeLake, packaged_snippets
from couler.generation.options import Generated, GenerateOptions, Listener, Verdict
from couler.generation.prompting import Prompts, set_apart
from couler.generation.sketch import Sketch, workflow_of
from couler.ir.diagnostics import Diagnostic
from couler.ir.workflow import Container, Step, Workflow
from couler.llm import LanguageModel

LONGEST_TEXT = 20_000
"""Characters of a description, and of what should change."""

NO_IR = "CLR641"

_ANY = Workflow(
    name="any", steps=(Step(name="any", action=Container(image="busybox", command=("true",))),)
)
"""A workflow that every engine takes."""


Task: t.TypeAlias = t.Literal[
    "data-loading",
    "data-validation",
    "preprocessing",
    "feature-engineering",
    "splitting",
    "model-application",
    "training",
    "tuning",
    "evaluation",
    "comparison",
    "selection",
    "prediction",
    "reporting",
    "deployment",
    "notification",
    "control",
    "other",
]
"""The predefined types of tasks of the paper's decomposition, and `control` and `other`."""


class _Answer(BaseModel):
    """What a model answers: nothing beside the fields, so that what it means is not lost."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class WrittenProgram(_Answer):
    """A program as a model answers it."""

    plan: str = Field(description="What the workflow does, step by step, in a few sentences")
    assumptions: tuple[str, ...] = Field(description="What the description left open")
    question: str = Field(description="What only the user can decide; empty if nothing")
    program: str = Field(description="The whole program")

    @field_validator("program")
    @classmethod
    def _without_fence(cls, program: str) -> str:
        fenced = re.fullmatch(r"\s*```\w*\n(.*?)```\s*", program, re.DOTALL)
        return fenced[1] if fenced else program


class PlannedModule(_Answer):
    """A part of a workflow with one task."""

    name: str = Field(description="In snake_case, unique")
    task: Task
    description: str = Field(description="What it does, with all details that the text gives")
    reads: tuple[str, ...] = Field(description="Names of earlier modules whose results it reads")


class Decomposition(_Answer):
    """A description in modules, in an order in which each reads from earlier ones."""

    reasoning: str = Field(description="Think step by step: which tasks does the text name?")
    workflow: str = Field(description="Its name, parameters with defaults, schedule and settings")
    modules: tuple[PlannedModule, ...] = Field(min_length=1, max_length=40)


class Critique(_Answer):
    """What a model says of a program that it wrote."""

    problems: tuple[str, ...] = Field(description="What is missing or wrong; empty if nothing is")
    advice: str = Field(description="How to fix it, in a few sentences")
    score: float = Field(ge=0, le=1, description="0: does something else; 1: nothing to fix")


def generate_workflow(
    description: str,
    model: LanguageModel,
    options: GenerateOptions | None = None,
    *,
    lake: CodeLake | None = None,
    build: Build | None = None,
    listener: Listener | None = None,
) -> Generated:
    """Turn a description into a workflow."""
    dialogue = _dialogue(description, model, options, lake, build, listener)
    if dialogue.options.mode == "schema":
        return _of_form(dialogue, "sketch")
    if dialogue.options.mode == "modules":
        return _by_modules(dialogue)
    return _of_program(dialogue, "write", description)


def revise_workflow(
    made: Generated,
    feedback: str,
    model: LanguageModel,
    options: GenerateOptions | None = None,
    *,
    lake: CodeLake | None = None,
    build: Build | None = None,
    listener: Listener | None = None,
) -> Generated:
    """Change a generated workflow as a user asks for; parameters are as for `generate_workflow`."""
    _refuse_long(feedback, "the feedback")
    dialogue = _dialogue(made.description, model, options, lake, build, listener)
    dialogue.log.extend(made.log)
    dialogue.usage = made.usage
    wish = set_apart(feedback.strip(), "feedback")
    if made.form is not None:
        form = set_apart(made.form, "form")
        return _of_form(dialogue, "sketch-revise", form=form, feedback=wish, problems="")
    program = set_apart(made.program or "", "program")
    return _of_program(dialogue, "revise", feedback, program=program, request=wish)


def _refuse_long(text: str, what: str) -> None:
    if not text.strip():
        raise ConfigurationError(f"{what} is empty: say what the workflow is to do")
    if len(text) > LONGEST_TEXT:
        raise ConfigurationError(
            f"{what} has {len(text):,} characters; at most {LONGEST_TEXT:,} are taken"
        )


def _dialogue(
    description: str,
    model: LanguageModel,
    options: GenerateOptions | None,
    lake: CodeLake | None,
    build: Build | None,
    listener: Listener | None,
) -> Dialogue:
    text = description.strip()
    _refuse_long(text, "the description")
    prompts = Prompts(CodeLake(packaged_snippets()) if lake is None else lake)
    options = options or GenerateOptions()
    judge_workflow(_ANY, options.targets)  # wrong settings, before a model is paid
    return Dialogue(text, model, options, prompts, build, listener)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A program, what is to be said of it, and what the model that wrote it says."""

    answer: WrittenProgram
    verdict: Verdict
    critique: Critique | None = None

    @property
    def rank(self) -> tuple[bool, float, int]:
        """What candidates are compared by: that it builds, the score, how little is wrong."""
        score = 0.0 if self.critique is None else self.critique.score
        return self.verdict.is_verified, score, -len(self.verdict.errors)


def _of_program(dialogue: Dialogue, name: str, query: str, **values: str) -> Generated:
    """Ask for a program in one answer, and have what is wrong with it repaired."""
    found = _written(dialogue, name, query, **values)
    return _ended(dialogue, found.verdict, found.answer)


def _written(
    dialogue: Dialogue,
    name: str,
    query: str,
    *,
    about: str | None = None,
    request: str = "",
    **values: str,
) -> _Candidate:
    """Return a program that the model wrote and repaired; `request` is what it is asked besides."""
    prompt, retrieved = dialogue.render(name, query, request=request, **values)
    if retrieved:
        dialogue.tell("retrieve", ", ".join(retrieved), module=about)
    answer = dialogue.ask(prompt, WrittenProgram)
    dialogue.tell("write", answer.plan, module=about)
    verdict = dialogue.judge(answer.program)
    for _ in range(dialogue.options.max_repairs):
        is_question = bool(answer.question) and not answer.program.strip()
        if verdict.is_verified or is_question or len(answer.program) > MOST_CHARACTERS:
            break
        dialogue.tell(
            "repair", repair_message(verdict.errors), module=about, diagnostics=verdict.errors
        )
        problems = told(verdict.errors)
        prompt, _ = dialogue.render(
            "repair",
            f"{query}\n{problems}",
            request=request,
            program=set_apart(numbered(answer.program), "program"),
            problems=set_apart(problems, "problems"),
        )
        before, answer = answer, dialogue.ask(prompt, WrittenProgram)
        if answer.program == before.program:
            break  # the same request would have the same answer
        verdict = dialogue.judge(answer.program)
    return _Candidate(answer, with_failed_run(verdict))


def _by_modules(dialogue: Dialogue) -> Generated:
    """Write one module after the other, each scored by the model that wrote it."""
    # The Couler paper, section III and Algorithm 1.
    prompt, _ = dialogue.render("decompose", "")
    plan = dialogue.ask(prompt, Decomposition)
    modules = ", ".join(f"{one.name} ({one.task})" for one in plan.modules)
    dialogue.tell("decompose", f"{plan.workflow}: {modules}")
    program, plans, assumptions, questions = "", list[str](), dict[str, None](), list[str]()
    for module in plan.modules:
        found = _best(dialogue, plan, module, program)
        program = found.answer.program
        plans.append(found.answer.plan)
        assumptions |= dict.fromkeys(found.answer.assumptions)
        questions += [found.answer.question] if found.answer.question else []
        if not found.verdict.is_verified:
            break
    of_all = {
        "plan": " ".join(plans),
        "assumptions": tuple(assumptions),
        "question": " ".join(questions),
    }
    return _ended(dialogue, found.verdict, found.answer.model_copy(update=of_all))


def _best(
    dialogue: Dialogue, plan: Decomposition, module: PlannedModule, program: str
) -> _Candidate:
    """Return the best program with a further module that the model wrote."""
    options = dialogue.options
    request = "\n\n".join(
        (
            set_apart(plan.model_dump_json(indent=1), "plan"),
            set_apart(module.model_dump_json(indent=1), "module"),
        )
    )
    query = f"{module.task} {module.name} {module.description}"

    def candidate(feedback: str) -> _Candidate:
        so_far = set_apart(program, "program")
        written = _written(
            dialogue,
            "extend",
            query,
            about=module.name,
            request=request,
            program=so_far,
            feedback=feedback,
        )
        if not written.verdict.is_verified:
            return written
        shown = set_apart(written.answer.program, "program")
        prompt, _ = dialogue.render("critique", query, program=shown, request=request)
        critique = dialogue.ask(prompt, Critique)
        said = "below" if critique.score < options.baseline_score else "at least"
        problems = f": {'; '.join(critique.problems)}" if critique.problems else ""
        message = f"score {critique.score:.2f}, {said} {options.baseline_score:g}{problems}"
        dialogue.tell("critique", message, module=module.name, score=critique.score)
        return _Candidate(written.answer, written.verdict, critique)

    best = candidate("")
    for _ in range(options.max_regenerations):  # the paper's loop has no bound
        if best.critique is None or best.critique.score >= options.baseline_score:
            break
        said = "\n".join([best.answer.program, *best.critique.problems, best.critique.advice])
        try:
            best = max(best, candidate(set_apart(said, "feedback")), key=lambda one: one.rank)
        except ModelAnswerError as error:  # there is a program already
            dialogue.tell("write", str(error), module=module.name)
            break
    return best


def _of_form(dialogue: Dialogue, name: str, **values: str) -> Generated:
    """Have a form filled in, and what is wrong with it repaired."""
    for attempt in range(dialogue.options.max_repairs + 1):
        prompt, _ = dialogue.render(name, "", **values)
        sketch = dialogue.ask(prompt, Sketch)
        if not attempt:
            dialogue.tell("write", sketch.reasoning)
        form = sketch.model_dump_json(indent=1)
        verdict = _judged(dialogue, sketch)
        if verdict.is_verified or attempt == dialogue.options.max_repairs:
            break
        dialogue.tell("repair", repair_message(verdict.errors), diagnostics=verdict.errors)
        problems = set_apart(told(verdict.errors), "problems")
        name, values = "sketch-revise", {"feedback": "", **values, "problems": problems}
        values["form"] = set_apart(form, "form")
    return _ended(dialogue, verdict, plan=sketch.reasoning, form=form)


def _judged(dialogue: Dialogue, sketch: Sketch) -> Verdict:
    try:
        workflow = workflow_of(sketch)
    except ValidationError as error:
        found = tuple(
            Diagnostic(NO_IR, f"{'.'.join(map(str, one['loc']))}: {one['msg']}")
            for one in error.errors()
        )
        return Verdict(None, found)
    return judge_workflow(workflow, dialogue.options.targets)


def _ended(
    dialogue: Dialogue,
    verdict: Verdict,
    answer: WrittenProgram | None = None,
    *,
    plan: str = "",
    form: str | None = None,
) -> Generated:
    said = "is verified" if verdict.is_verified else "could not be repaired"
    engines = dialogue.options.targets
    where = f" for {', '.join(engines)}" if engines else ""
    dialogue.tell("verify", f"the workflow {said}{where}", diagnostics=verdict.errors)
    return Generated(
        description=dialogue.description,
        plan=plan if answer is None else answer.plan,
        assumptions=() if answer is None else answer.assumptions,
        question="" if answer is None else answer.question,
        program=None if answer is None else answer.program,
        form=form,
        workflow=verdict.workflow,
        diagnostics=verdict.diagnostics,
        usage=dialogue.usage,
        log=tuple(dialogue.log),
    )
