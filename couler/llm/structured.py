"""Structured answers: schemas in prompts, and answers read as pydantic models."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from pydantic import BaseModel, ValidationError

from couler.hidden import clean
from couler.llm.dialogue import M, Message

_MAX_FAULTS = 8

_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>\s*", re.S)

_FENCED = re.compile(r"^```\w*[ \t]*\n(.*?)^```", re.S | re.M)


class FormError(Exception):
    """An answer does not fit the schema."""


def with_schema(messages: tuple[Message, ...], schema: type[BaseModel]) -> tuple[Message, ...]:
    """Return a dialogue that ends with the request for JSON of a schema."""
    text = (
        "Answer with one JSON object in a fenced block that begins with ```json, and with nothing "
        "else. It must fit this JSON schema:\n"
        + json.dumps(schema.model_json_schema(), ensure_ascii=False)
    )
    if not messages or messages[-1].role != "user":
        return (*messages, Message("user", text))
    return (*messages[:-1], Message("user", f"{messages[-1].content}\n\n{text}"))


def read_form(schema: type[M], text: str) -> M:
    """Return what an answer says, also if the JSON is fenced or within other text."""
    faults = "it is no JSON object"
    for candidate in _candidates(without_thoughts(text).strip()):
        try:
            return schema.model_validate_json(candidate)
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False, include_input=False)
            if found[0]["type"] != "json_invalid":
                faults = "; ".join(
                    f"{'.'.join(map(str, one['loc'])) or 'the whole'}: {one['msg']}"
                    for one in found[:_MAX_FAULTS]
                )
    raise FormError(clean(faults))  # fields have names that the model chose


def repair_turn(answer: str, fault: FormError) -> tuple[Message, Message]:
    """Return an answer and the request to repair its form."""
    text = (
        f"This answer cannot be used: {fault}. Give the whole answer again with this fixed, and "
        "nothing else."
    )
    return Message("assistant", answer), Message("user", text)


def without_thoughts(text: str) -> str:
    """Return an answer without the thoughts that some models write before it."""
    return _THOUGHTS.sub("", text)


def _candidates(text: str) -> Iterator[str]:
    """Yield the parts of a text that may be the JSON."""
    yield text
    yield from reversed(_FENCED.findall(text))
    yield text[text.find("{") : text.rfind("}") + 1]
