"""From a description to a workflow: the paper's Algorithm 1, with the compiler as first judge."""
# Couler, section III and Algorithm 1. Read so, where it is silent or would not end: - The loop of
# lines 10 to 12 is bounded (`max_regenerations`), and the best candidate is kept: one that builds
# before one that does not, and of these the one with the higher score. - Before the model scores a
# candidate (line 9), it is built in isolation and verified, together with the modules before it.
# What is wrong goes back to the model, with codes and lines. - A module that cannot be mended does
# not end it: the program is then asked for as a whole. - The feedback of line 14 goes the same way
# (`revise_workflow`).

from __future__ import annotations

from couler.errors import ConfigurationError
from couler.generation.assembling import assemble
from couler.generation.dialogue import Dialogue
from couler.generation.judging import Build, Verdict, asked_to_mend, told
from couler.generation.lake import CodeLake, packaged_snippets
from couler.generation.module_code import write_module
from couler.generation.modules import TASKS, Decomposition, ModuleCode
from couler.generation.options import Generated, GenerateOptions, Listener
from couler.generation.prompting import Prompts, set_apart
from couler.generation.schema_mode import revise_sketch, write_sketch
from couler.generation.sketch import Sketch
from couler.generation.whole_program import mend_program, revise_program, write_program
from couler.ir.diagnostics import Diagnostic
from couler.llm import LanguageModel

__all__ = ["LONGEST_TEXT", "generate_workflow", "revise_workflow"]

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
    said = "is verified" if verdict.is_sound else "could not be mended"
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
