"""Verifying what a build gave, in a process of its own: data of strangers can take long."""

from __future__ import annotations

import json
import os
import typing as t

from couler.box import walls
from couler.box.answer import ForgedError, read_answer
from couler.box.ending import IS_LONG
from couler.ir.serialize import to_tree
from couler.ir.verify import verify

_CHUNK = 1 << 16


def judge(given: int, told: int, spec: t.Mapping[str, t.Any]) -> t.NoReturn:
    """Read a result up to its end, verify it, and write what was found; then end the process."""
    bounds = {name: spec["limits"][name] for name in ("AS", "CPU", "CORE")}
    walls.limit_resources(bounds)
    result = _read(given, spec["result_bytes"])
    if result is None:
        os.write(told, IS_LONG)
    elif result:
        write(told, _judged(result, spec["name"]))
    os._exit(0)


def _read(given: int, most: int) -> bytes | None:
    """Read all that a build writes; None if that is too much."""
    held = bytearray()
    while chunk := os.read(given, _CHUNK):
        held += chunk
        if len(held) > most:
            return None
    return bytes(held)


def _judged(result: bytes, name: str) -> dict[str, t.Any]:
    try:
        answer = read_answer(result, name, name)
        found = () if answer.workflow is None else tuple(verify(answer.workflow))
    except ForgedError as error:
        return {"forged": str(error)}
    except RecursionError:
        return {"forged": "it is nested too deep"}
    if answer.workflow is None and not answer.diagnostics:
        return {"forged": "there is no workflow, and no reason"}
    return {
        "workflow": None if answer.workflow is None else to_tree(answer.workflow),
        "diagnostics": [one.to_json() for one in answer.diagnostics],
        "verified": [one.to_json() for one in found],
        "failed": None if answer.failed is None else answer.failed.to_json(),
        "outside": answer.is_outside,
    }


def write(end: int, tree: object) -> None:
    """Write a tree as JSON, all of it."""
    text = memoryview(json.dumps(tree).encode())
    while text:
        text = text[os.write(end, text) :]
