"""Steps 2 and 3 of Algorithm 1: the code of a module, judged, repaired and scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from couler.generation.assembling import Program, assemble
from couler.generation.calibration import (
    Candidate,
    ask_critique,
    best_candidate,
    feedback_on,
)
from couler.generation.dialogue import Dialogue
from couler.generation.judging import asked_to_mend, numbered, told
from couler.generation.lake import Snippet
from couler.generation.modules import Decomposition, ModuleCode, ModulePlan
from couler.generation.prompting import set_apart
from couler.ir.diagnostics import Diagnostic
from couler.llm import Prompt


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
