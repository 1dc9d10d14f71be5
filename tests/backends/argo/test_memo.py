"""Cached steps on Argo: their keys and config maps, their files, and what is refused."""

from __future__ import annotations

import json
import typing as t

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.argo.memoization import entry_bytes
from couler.backends.base import Target
from couler.errors import EngineOptionError
from couler.ir.artifacts import FileRemoval
from couler.ir.defaults import resolve_defaults
from couler.ir.policies import Cache
from couler.ir.workflow import Output, Step, Workflow
from tests.corpus.build import flow, given, group, item, ref, sh
from tests.support import argo_schema

BACKEND = ArgoBackend()
FILE = Output(name="f", type="file", path="f")


def spec(workflow: Workflow, **options: object) -> dict[str, t.Any]:
    target = Target(options=options)
    text = BACKEND.compile(resolve_defaults(workflow), target, format="json").to_text()
    assert argo_schema.problems(json.loads(text)) == []
    return t.cast("dict[str, t.Any]", json.loads(text)["spec"])


def template(workflow: Workflow, name: str, **options: object) -> dict[str, t.Any]:
    found = {one["name"]: one for one in spec(workflow, **options)["templates"]}
    return t.cast("dict[str, t.Any]", found[name])


def made(name: str = "make", **fields: t.Any) -> Step:
    fields = {"cache": Cache(), "outputs": (FILE,), **fields}
    return sh(name, "touch $COULER_WORK/f", result=None, **fields)


def test_another_number_of_maps_is_refused() -> None:
    with pytest.raises(EngineOptionError, match="memo_maps is 1 or 16 or 256, not 7"):
        spec(flow("w", made()), memo_maps=7)


def codes(workflow: Workflow, **options: object) -> list[tuple[str, str]]:
    found = BACKEND.check(workflow, Target(options=options))
    return [(one.code, one.severity) for one in found]


def test_what_is_said_of_memoized_files_against_the_cache_is_refused() -> None:
    folder = [given("data", ref("make", "f"), "file", path="d", many=True)]
    many = flow("w", made(foreach=["a"]), sh("read", "ls d", inputs=folder))
    assert codes(many) == [("CLR325", "error")]
    removed = FILE.model_copy(update={"removal": FileRemoval(on="completion")})
    assert codes(flow("w", made(outputs=(removed,)))) == [("CLR326", "error")]
    never = FILE.model_copy(update={"removal": FileRemoval(on="never")})
    assert codes(flow("w", made(outputs=(never,)))) == []
    assert codes(flow("w", made(cache=Cache(name="My_cache")))) == [("CLR411", "error")]


def items(count: int, **cache: t.Any) -> Workflow:
    step = sh("each", "echo $1", item(), foreach=list(range(count)), cache=Cache(**cache))
    return flow("w", group("inside", step))


def test_entries_are_counted_against_their_config_maps() -> None:
    assert codes(items(1_000, name="one")) == []
    assert codes(items(2_500, name="one")) == [("CLR515", "warning")]
    assert codes(items(6_000, name="one")) == [("CLR515", "error")]
    assert codes(items(2_500), memo_maps=1) == [("CLR515", "warning")]
    assert codes(items(6_000)) == []


def test_an_entry_takes_what_argo_writes() -> None:
    workflow = flow("probe", made())
    written = (
        '{"nodeID":"probe-1883f-2856112255","outputs":{"parameters":[{"name":"f","value":'
        '"probe-1883f/make/f/1"}],"artifacts":[{"name":"f","path":"/tmp/couler/f","s3":{"key":'
        '"probe-1883f/make/f/1"},"archive":{"none":{}},"artifactGC":{"strategy":"Never"}}],'
        '"exitCode":"0"},"creationTimestamp":"2026-11-23T18:10:41Z","lastHitTimestamp":'
        '"2026-11-23T18:10:41Z"}'
    )
    taken = len(json.dumps({"4" * 64: written}))
    assert abs(entry_bytes(template(workflow, "make"), text_bytes=0) - taken) < 20
