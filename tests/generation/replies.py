"""A model whose answers are known: for tests of what is done with them, without a server."""

from __future__ import annotations

import typing as t

from pydantic import BaseModel

from couler.llm import Answer, Parsed, Prompt, Usage

M = t.TypeVar("M", bound=BaseModel)

Reply = tuple[str, dict[str, object]]


class Replies:
    """Answers of a script in order; each says for which prompt it is."""

    def __init__(self, *replies: Reply) -> None:
        self.left = list(replies)
        self.asked: list[Prompt] = []
        self.usage = Usage()

    def ask(
        self, prompt: Prompt, *, temperature: float | None = None, seed: int | None = None
    ) -> Answer:
        raise AssertionError("forms are asked for, not texts")

    def ask_for(
        self,
        prompt: Prompt,
        schema: type[M],
        *,
        temperature: float | None = None,
        seed: int | None = None,
    ) -> Parsed[M]:
        self.asked.append(prompt)
        assert self.left, f"nobody expected the prompt {prompt.name}"
        name, fields = self.left.pop(0)
        assert prompt.name == name
        used = Usage(1, 100, 10, 0.0, 0.5)
        self.usage += used
        return Parsed(schema.model_validate(fields), Answer("", used, "known", "stop"))

    def told(self, number: int) -> str:
        """Return what the user's message of a call said."""
        return self.asked[number].messages[-1].content


def plan(*names: str) -> Reply:
    modules = [
        {"name": name, "task": "other", "description": f"does {name}", "reads": []}
        for name in names
    ]
    return "decompose", {"reasoning": "", "workflow": "made", "modules": modules}


def program(*steps: str) -> str:
    """Return a program of steps that each print their name, the later ones after the earlier."""
    lines = ["import couler", "", 'with couler.Workflow("made") as wf:']
    before = ""
    for name in steps:
        lines.append(
            f'    {name} = couler.run_container("alpine:3.20", ["echo", "{name}"]{before}, '
            f'name="{name}")'
        )
        before = f", args=[{name}]"
    return "\n".join(lines) + "\n"


def critique(score: float, *problems: str) -> Reply:
    return "critique", {"problems": problems, "advice": "Mend it.", "score": score}


def written(
    text: str, *, name: str = "write", assumptions: tuple[str, ...] = (), question: str = ""
) -> Reply:
    fields = {"plan": "It prints.", "assumptions": [*assumptions], "question": question}
    return name, fields | {"program": text}
