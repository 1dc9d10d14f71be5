"""The schemas that an API server enforces for Argo's resources, and what they leave to code."""

from __future__ import annotations

import functools
import json
import typing as t
from pathlib import Path

import jsonschema
import pytest

SCHEMAS = Path(__file__).parents[2].parent / "shared" / "schemas" / "argo"


def available() -> bool:
    """Whether the schemas are here."""
    return SCHEMAS.is_dir()


@functools.cache
def schema(kind: str) -> dict[str, t.Any]:
    """Return the schema of a kind; skip without it."""
    path = SCHEMAS / f"{kind}.json"
    if not path.is_file():
        pytest.skip(f"the schema of {kind} is not beside this checkout (../shared/schemas/argo)")
    return t.cast("dict[str, t.Any]", json.loads(path.read_text()))


@functools.cache
def _validator(kind: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schema(kind))


def problems(manifest: dict[str, t.Any]) -> list[str]:
    """Return what the API server of a default installation would refuse in a manifest."""
    validator = _validator(manifest["kind"])
    return [
        f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"
        for error in validator.iter_errors(manifest)
    ]
