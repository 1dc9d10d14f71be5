"""The form of an answer: how it is asked for, and how an answer is read."""

from __future__ import annotations

import json
import re
import typing as t
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import ValidationError

from couler.hidden import clean
from couler.llm.dialogue import M, Message

Rung: t.TypeAlias = t.Literal["schema", "object", "text"]

RUNGS: tuple[Rung, ...] = t.get_args(Rung)
"""Ways to ask for a form, the surest first."""

_MOST_PROBLEMS = 8

_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>\s*", re.S)

_FENCED = re.compile(r"^```\w*[ \t]*\n(.*?)^```", re.S | re.M)

_TAKEN_OUT = ("default", "discriminator")
"""Keywords that no answer depends on, and that endpoints refuse in strict schemas."""


class FormError(Exception):
    """An answer has not the form."""

    def __init__(self, problem: str, *, is_json: bool) -> None:
        super().__init__(problem)
        self.is_json = is_json


@dataclass(frozen=True, slots=True)
class Form(t.Generic[M]):
    """The form of a pydantic model."""

    model: type[M]

    @property
    def name(self) -> str:
        """What endpoints call it: letters, digits, `_` and `-`."""
        return re.sub(r"[^\w-]", "_", self.model.__name__, flags=re.A)[:64]

    @property
    def schema(self) -> dict[str, t.Any]:
        """The JSON schema of the form."""
        return self.model.model_json_schema()

    def response_format(self, rung: Rung) -> dict[str, t.Any] | None:
        """Return what is sent as `response_format`; None for nothing."""
        if rung == "text":
            return None
        if rung == "object":
            return {"type": "json_object"}
        schema = self.schema
        strict = strict_schema(schema)
        described = {"name": self.name, "schema": strict or schema, "strict": strict is not None}
        return {"type": "json_schema", "json_schema": described}

    def said(self, messages: tuple[Message, ...], rung: Rung) -> tuple[Message, ...]:
        """Return a dialogue whose last message says the form in words."""
        wanted = "Answer with one JSON object"
        if rung == "text":
            wanted += " in a fenced block that begins with ```json, and with nothing else"
        schema = json.dumps(self.schema, ensure_ascii=False)
        text = f"{wanted}. It must fit this JSON schema:\n{schema}"
        if not messages or messages[-1].role != "user":
            return (*messages, Message("user", text))
        return (*messages[:-1], Message("user", f"{messages[-1].content}\n\n{text}"))

    def read(self, text: str) -> M:
        """Return what an answer says."""
        problem: FormError | None = None
        for candidate in _candidates(text):
            try:
                return self.model.model_validate_json(candidate)
            except ValidationError as error:
                found = _problem(error)
                if problem is None or (found.is_json and not problem.is_json):
                    problem = found
        raise problem or FormError("it is empty", is_json=False)


def below(rung: Rung) -> Rung:
    """Return the next way to ask for a form, the last after the last."""
    return RUNGS[min(RUNGS.index(rung) + 1, len(RUNGS) - 1)]


def repair_text(problem: FormError) -> str:
    """Return the turn that asks to mend the form of an answer."""
    return (
        f"This answer cannot be used: {problem}. Give the whole answer again, with this mended, "
        "and say nothing else."
    )


def without_thoughts(text: str) -> str:
    r"""Return an answer without the thoughts that some models write before it."""
    return _THOUGHTS.sub("", text)


def is_json(text: str) -> bool:
    """Return whether the whole of a text is JSON."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def strict_schema(schema: dict[str, t.Any]) -> dict[str, t.Any] | None:
    """A JSON schema as endpoints want it that hold answers to it; None if it cannot be so."""
    # https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
    try:
        strict = _strict(schema)
    except _FreeFormError:
        return None
    return strict if strict.get("type") == "object" else None


class _FreeFormError(Exception):
    pass


def _strict(schema: dict[str, t.Any]) -> dict[str, t.Any]:
    made: dict[str, t.Any] = {}
    for name, value in schema.items():
        if name in ("properties", "$defs"):
            made[name] = {inner: _strict(one) for inner, one in value.items()}
        elif name == "items":
            made[name] = _strict(value)
        elif name in ("anyOf", "oneOf", "allOf"):
            made["allOf" if name == "allOf" else "anyOf"] = [_strict(one) for one in value]
        elif name == "prefixItems":
            raise _FreeFormError
        elif name not in _TAKEN_OUT:
            made[name] = value
    if made.get("type") == "object":
        if made.get("additionalProperties", False) is not False or "properties" not in made:
            raise _FreeFormError
        made["additionalProperties"] = False
        made["required"] = list(made["properties"])
    elif not {"type", "$ref", "anyOf", "allOf", "enum", "const"} & set(made):
        raise _FreeFormError
    if "$ref" in made and len(made) > 1:
        made["anyOf"] = [{"$ref": made.pop("$ref")}]
    return made


def _candidates(text: str) -> Iterator[str]:
    """Yield the parts of an answer that may be what was asked for, the likeliest first."""
    whole = without_thoughts(text).strip()
    if not whole:
        return
    yield whole
    yield from (found.strip() for found in reversed(_FENCED.findall(whole)))
    start, end = whole.find("{"), whole.rfind("}")
    if 0 <= start < end:
        yield whole[start : end + 1]


def _problem(error: ValidationError) -> FormError:
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    if problems[0]["type"] == "json_invalid":
        return FormError("it is no JSON object", is_json=False)
    told = [
        f"{'.'.join(map(str, one['loc'])) or 'the whole'}: {one['msg']}"
        for one in problems[:_MOST_PROBLEMS]
    ]
    more = len(problems) - len(told)
    text = "; ".join(told) + f"; and {more} more" * bool(more)
    return FormError(clean(text), is_json=True)  # places have names that the model chose
