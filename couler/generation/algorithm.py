"""From a description to a workflow by the paper's Algorithm 1: as form, program or modules."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from couler.errors import ConfigurationError
from couler.generation.assembling import Program, assemble
from couler.generation.dialogue import Dialogue
from couler.generation.judging import Build, asked_to_mend, judge_workflow, numbered, told
from couler.generation.lake import CodeLake, Snippet, packaged_snippets
from couler.generation.modules import TASKS, Decomposition, ModuleCode, ModulePlan
from couler.generation.options import Generated, GenerateOptions, Listener, Verdict
from couler.generation.prompting import Prompts, set_apart
from couler.generation.sketch import Sketch, workflow_of
from couler.ir.diagnostics import Diagnostic
from couler.llm import LanguageModel, Prompt

LONGEST_TEXT = 20_000
"""Characters of a description, and of what should change."""

_NO_STEPS = "CLR201"


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
    text = description.strip()
    _refuse_long(text, "the description")
    dialogue = _dialogue(text, model, options, lake, build, listener)
    if dialogue.options.mode == "schema":
        return _of_form(dialogue, *write_sketch(dialogue))
    found = _by_modules(dialogue) if dialogue.options.decompose else None
    return _of_program(dialogue, *(write_program(dialogue) if found is None else found))


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
    if made.form is not None:
        return _of_form(dialogue, *revise_sketch(dialogue, made.form, feedback.strip()))
    program = made.program or ""
    return _of_program(dialogue, *revise_program(dialogue, program, feedback.strip()))


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
    options = GenerateOptions() if options is None else options
    if lake is None:
        lake = CodeLake(packaged_snippets() if options.use_lake else ())
    return Dialogue(description, model, options, Prompts(options, lake), build, listener)


def _by_modules(dialogue: Dialogue) -> tuple[str, Verdict] | None:
    """Return the program of all modules; None if one of them could not be mended."""
    plan = _decomposed(dialogue)
    parts: dict[str, ModuleCode] = {}
    for module in plan.modules:
        found = write_module(dialogue, plan, module, parts)
        if found.errors:
            dialogue.tell(
                "verify",
                "could not be mended, so the program is asked for as a whole",
                module=module.name,
                diagnostics=found.errors,
            )
            return None
        parts[module.name] = found.code
    program = assemble(dialogue.description, plan, parts)
    return mend_program(dialogue, program.text, dialogue.judge(program.text))


def _decomposed(dialogue: Dialogue) -> Decomposition:
    """Return the plan; one whose head of the workflow cannot be built goes back first."""
    problems: tuple[Diagnostic, ...] = ()
    for _ in range(dialogue.options.max_repairs + 1):
        prompt = dialogue.prompts.render(
            "decompose",
            tasks=TASKS,
            description=set_apart(dialogue.description, "description"),
            problems=set_apart(told(problems), "problems") if problems else "",
        )
        plan = dialogue.ask(prompt, Decomposition)
        names = ", ".join(f"{one.name} ({one.task})" for one in plan.modules)
        dialogue.tell("decompose", f"{plan.workflow_name}: {names}")
        if not (plan.settings or plan.schedule):
            return plan
        verdict = dialogue.judge(assemble(dialogue.description, plan, {}).text)
        problems = tuple(one for one in verdict.errors if one.code != _NO_STEPS)
        if not problems:
            return plan
        dialogue.tell("repair", asked_to_mend(problems), diagnostics=problems)
    return plan


def _of_program(dialogue: Dialogue, text: str, verdict: Verdict) -> Generated:
    return _ended(dialogue, verdict, program=text)


def _of_form(dialogue: Dialogue, sketch: Sketch, verdict: Verdict) -> Generated:
    return _ended(dialogue, verdict, form=sketch.model_dump_json(indent=1))


def _ended(
    dialogue: Dialogue,
    verdict: Verdict,
    *,
    program: str | None = None,
    form: str | None = None,
) -> Generated:
    said = "is verified" if verdict.is_verified else "could not be mended"
    engines = dialogue.options.targets
    where = f" for {', '.join(engines)}" if engines else ""
    dialogue.tell("verify", f"the workflow {said}{where}", diagnostics=verdict.errors)
    return Generated(
        description=dialogue.description,
        program=program,
        form=form,
        workflow=verdict.workflow,
        diagnostics=verdict.diagnostics,
        usage=dialogue.usage,
        log=tuple(dialogue.log),
    )


NO_IR = "CLR641"


def write_sketch(dialogue: Dialogue) -> tuple[Sketch, Verdict]:
    """Return the form that the model filled in for the description, mended if needed."""
    prompt = dialogue.prompts.render(
        "sketch", description=set_apart(dialogue.description, "description")
    )
    sketch = dialogue.ask(prompt, Sketch)
    dialogue.tell("whole", sketch.reasoning)
    return _mended(dialogue, sketch)


def revise_sketch(dialogue: Dialogue, form: str, feedback: str) -> tuple[Sketch, Verdict]:
    """Return a form changed as a user asks for."""
    prompt = dialogue.prompts.render(
        "sketch-revise",
        description=set_apart(dialogue.description, "description"),
        form=set_apart(form, "form"),
        feedback=set_apart(feedback, "feedback"),
        problems="",
    )
    sketch = dialogue.ask(prompt, Sketch)
    dialogue.tell("revise", sketch.reasoning)
    return _mended(dialogue, sketch)


def _mended(dialogue: Dialogue, sketch: Sketch) -> tuple[Sketch, Verdict]:
    verdict = _judge(dialogue, sketch)
    for _ in range(dialogue.options.max_repairs):
        if verdict.is_verified:
            break
        dialogue.tell("repair", asked_to_mend(verdict.errors), diagnostics=verdict.errors)
        prompt = dialogue.prompts.render(
            "sketch-revise",
            description=set_apart(dialogue.description, "description"),
            form=set_apart(sketch.model_dump_json(indent=1), "form"),
            problems=set_apart(told(verdict.errors), "problems"),
            feedback="",
        )
        sketch = dialogue.ask(prompt, Sketch)
        verdict = _judge(dialogue, sketch)
    return sketch, verdict


def _judge(dialogue: Dialogue, sketch: Sketch) -> Verdict:
    try:
        workflow = workflow_of(sketch)
    except ValidationError as error:
        found = tuple(
            Diagnostic(NO_IR, f"{'.'.join(map(str, one['loc']))}: {one['msg']}")
            for one in error.errors()
        )
        return Verdict(None, found)
    return judge_workflow(workflow, dialogue.options.targets)


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
        if not found.verdict.is_verified or not dialogue.options.calibrate:
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
        if verdict.is_verified:
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


def write_module(
    dialogue: Dialogue,
    plan: Decomposition,
    module: ModulePlan,
    parts: Mapping[str, ModuleCode],
) -> Candidate[ModuleCode]:
    """Return the best code for a module that the model wrote."""
    return _ModuleWriter(dialogue, plan, module, parts).run()


class _ModuleWriter:
    def __init__(
        self,
        dialogue: Dialogue,
        plan: Decomposition,
        module: ModulePlan,
        parts: Mapping[str, ModuleCode],
    ) -> None:
        self.dialogue = dialogue
        self.plan = plan
        self.module = module
        self.parts = parts
        self.snippets: Sequence[Snippet] = dialogue.prompts.snippets(
            f"{module.task} {module.name} {module.description}"
        )
        self.values = {
            "description": set_apart(dialogue.description, "description"),
            "plan": set_apart(plan_text(plan), "plan"),
            "module": set_apart(module.model_dump_json(indent=2), "module"),
            "program": set_apart(assemble(dialogue.description, plan, parts).text, "program"),
        }

    def run(self) -> Candidate[ModuleCode]:
        self.dialogue.tell_retrieved((one.name for one in self.snippets), module=self.module.name)
        return best_candidate(self.dialogue, self._candidate)

    def _candidate(self, before: Candidate[ModuleCode] | None) -> Candidate[ModuleCode]:
        dialogue, options = self.dialogue, self.dialogue.options
        feedback = "" if before is None else feedback_on(_shown(before.code), before.critique)
        code = dialogue.ask(self._prompt("generate", feedback=feedback), ModuleCode)
        dialogue.tell("generate", code.explanation, module=self.module.name)
        errors = self._errors(code)
        for _ in range(options.max_repairs):
            if not errors:
                break
            dialogue.tell(
                "repair", asked_to_mend(errors), module=self.module.name, diagnostics=errors
            )
            mended = dialogue.ask(self._repair_prompt(code, errors), ModuleCode)
            if (mended.definitions, mended.wiring) == (code.definitions, code.wiring):
                break  # the same question would have the same answer
            code, errors = mended, self._errors(mended)
        if errors or not options.calibrate:
            return Candidate(code, errors)
        prompt = self._prompt("critique", code=_shown(code))
        return Candidate(code, errors, ask_critique(dialogue, prompt, module=self.module.name))

    def _errors(self, code: ModuleCode) -> tuple[Diagnostic, ...]:
        """Return what is wrong with the program so far, with this module."""
        program = self._program_with(code)
        if program.problems:
            return program.problems
        return self.dialogue.judge(program.text).errors

    def _program_with(self, code: ModuleCode) -> Program:
        parts = {**self.parts, self.module.name: code}
        return assemble(self.dialogue.description, self.plan, parts)

    def _repair_prompt(self, code: ModuleCode, errors: tuple[Diagnostic, ...]) -> Prompt:
        program = set_apart(numbered(self._program_with(code).text), "program")
        return self._prompt(
            "repair",
            code=_shown(code),
            problems=set_apart(told(errors), "problems"),
            program=program,
        )

    def _prompt(self, name: str, **values: str) -> Prompt:
        return self.dialogue.prompts.render(
            name, snippets=self.snippets, **{**self.values, **values}
        )


def plan_text(plan: Decomposition) -> str:
    """Return the modules of a plan as a model is told them."""
    lines = [f"workflow {plan.workflow_name}"]
    lines += [f"parameter {one.name} = {one.default}" for one in plan.parameters]
    if plan.schedule:
        lines.append(f"schedule {plan.schedule}")
    if plan.settings:
        lines.append(f"settings {plan.settings}")
    for module in plan.modules:
        reads = f", reads {', '.join(module.reads)}" if module.reads else ""
        lines.append(f"- {module.name} ({module.task}{reads}): {module.description}")
    return "\n".join(lines)


def _shown(code: ModuleCode) -> str:
    text = f"# definitions\n{code.definitions}\n\n# wiring\n{code.wiring}"
    return set_apart(text, "code")


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
