"""The prompts: what stands in them, and how text that nobody trusts is set apart."""

from __future__ import annotations

import functools
import inspect
import re
import typing as t
from collections.abc import Sequence

import couler
from couler.dsl.step_options import StepOptions
from couler.generation.lake import CodeLake, Snippet
from couler.generation.options import GenerateOptions
from couler.llm import Prompt, render_prompt

_PACKAGE = "couler.generation"


class Prompts:
    """Prompts with the rules, the card and the snippets that the options ask for."""

    def __init__(self, options: GenerateOptions, lake: CodeLake) -> None:
        self._rules = options.use_rules
        self._card = api_card() if options.use_card else ""
        self._lake = lake if options.use_lake else None
        self._count = options.snippets

    def snippets(self, query: str) -> tuple[Snippet, ...]:
        """Return the snippets for a text."""
        return () if self._lake is None else self._lake.search(query, self._count)

    def render(self, name: str, *, snippets: Sequence[Snippet] = (), **values: object) -> Prompt:
        """Return a prompt of this package."""
        texts = [
            (set_apart(one.summary, "summary"), set_apart(one.code, "code")) for one in snippets
        ]
        given = {"rules": self._rules, "card": self._card, "snippets": texts, **values}
        return render_prompt(_PACKAGE, name, **given)


def set_apart(text: str, tag: str) -> str:
    r"""Return a text between tags, none of which it can close itself, however it is written."""
    inside = re.sub(rf"<(\s*)/(?=\s*{re.escape(tag)})", r"<\1\\/", text, flags=re.IGNORECASE)
    return f"<{tag}>\n{inside}\n</{tag}>"


NAMES = (
    "step",
    "Workflow",
    "run_container",
    "run_script",
    "run_job",
    "http",
    "suspend",
    "when",
    "first_of",
    "or_else",
    "map",
    "sequence",
    "loop",
    "group",
    "failure",
    "completion",
    "any_of",
    "text",
    "list_files",
    "File",
    "Directory",
    "S3Artifact",
    "GitArtifact",
    "Retry",
    "Gpu",
    "Cache",
    "Schedule",
    "Parameter",
    "StepDefaults",
    "Mutex",
    "Semaphore",
    "Volume",
    "VolumeMount",
    "obtain_secret",
)
"""What the card tells of, in the order in which it does."""


_OF_THE_ANCESTOR = frozenset({"pool", "enable_ulogfs", "step_name", "namespace", "dry_run"})
"""Parameters that stand for nothing, or that have a better name."""


@functools.cache
def api_card() -> str:
    r"""Return the card: a line with the signature of each name, and what it is for."""
    lines = []
    for name in NAMES:
        thing = getattr(couler, name)
        summary = (inspect.getdoc(thing) or "").partition("\n")[0]
        lines += [f"couler.{name}{_signature(thing)}", f"    {summary}"]
    lines += ["OPTIONS", f"    {', '.join(StepOptions.__annotations__)}"]
    return "\n".join(lines)


def _signature(thing: t.Any) -> str:
    """Return the parameters of something that is called: names, and defaults that say something."""
    try:
        parameters = inspect.signature(thing).parameters.values()
    except ValueError:  # a built-in constructor, as that of text
        return "(path)"
    shown: list[str] = []
    for parameter in parameters:
        if parameter.name in _OF_THE_ANCESTOR:
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not any(one[0] == "*" for one in shown):
            shown.append("*")
        shown.append(_shown(parameter))
    return f"({', '.join(shown)})"


def _shown(parameter: inspect.Parameter) -> str:
    match parameter.kind:
        case parameter.VAR_POSITIONAL:
            return f"*{parameter.name}"
        case parameter.VAR_KEYWORD:
            return "**OPTIONS" if "options" in parameter.name else f"**{parameter.name}"
        case _:
            has_default = parameter.default is not parameter.empty
            return f"{parameter.name}={parameter.default!r}" if has_default else parameter.name
