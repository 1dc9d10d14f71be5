"""The second mode: a model fills in a form, so that nothing that it wrote runs here."""

from __future__ import annotations

from pydantic import ValidationError

from couler.generation.dialogue import Dialogue
from couler.generation.judging import Verdict, asked_to_mend, judge_workflow, told
from couler.generation.prompting import set_apart
from couler.generation.sketch import Sketch, workflow_of
from couler.ir.diagnostics import Diagnostic

__all__ = ["NO_IR", "revise_sketch", "write_sketch"]

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
        if verdict.is_sound:
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
