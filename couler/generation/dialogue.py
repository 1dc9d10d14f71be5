"""What all steps of a generation share: the model, the prompts, the judge and the log."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from pydantic import BaseModel

from couler.generation.judging import Build, judge_program
from couler.generation.options import GenerateOptions, Kind, Listener, Round, Verdict
from couler.generation.prompting import Prompts, set_apart
from couler.ir.diagnostics import Diagnostic
from couler.llm import LanguageModel, Prompt, Usage

M = t.TypeVar("M", bound=BaseModel)


@dataclass
class Dialogue:
    """One run of the algorithm."""

    description: str
    model: LanguageModel
    options: GenerateOptions
    prompts: Prompts
    build: Build | None = None
    listener: Listener | None = None
    log: list[Round] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)

    def ask(self, prompt: Prompt, schema: type[M]) -> M:
        """Return what the model answers, in a form."""
        options = self.options
        asked = self.model.ask_for(
            prompt, schema, temperature=options.temperature, seed=options.seed
        )
        self.usage += asked.answer.usage
        return asked.value

    def render(self, name: str, query: str, **values: str) -> tuple[Prompt, tuple[str, ...]]:
        """Return a prompt, and the names of what was retrieved for a query."""
        description = set_apart(self.description, "description")
        return self.prompts.render(name, query, description=description, **values)

    def judge(self, program: str) -> Verdict:
        """Return what is to be said of a program."""
        options = self.options
        return judge_program(program, options.targets, build=self.build, run=options.run)

    def tell(
        self,
        kind: Kind,
        message: str,
        *,
        module: str | None = None,
        score: float | None = None,
        diagnostics: tuple[Diagnostic, ...] = (),
    ) -> None:
        """Log an event of a round."""
        ended = Round(kind, message, module, score, diagnostics)
        self.log.append(ended)
        if self.listener is not None:
            self.listener(ended)
