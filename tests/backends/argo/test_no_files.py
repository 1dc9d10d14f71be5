"""Folders of files that may be empty, in manifests; what comes of them is in `test_oracle`."""

from __future__ import annotations

import io
import json
import typing as t
import zipfile

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.base import Target
from couler.ir.defaults import resolve_defaults
from couler.ir.values import Value
from couler.ir.workflow import Step
from tests.corpus.build import flow, given, item, out, part, ref, rng, sh


def written(items: object) -> tuple[Step, Step]:
    """Return a step that makes a list, and one that makes a file for each of some items."""
    files = [out("f", "file", "f")]
    return (
        sh("list", "echo '[]'", result="list"),
        sh("write", 'touch "$COULER_WORK/f"', item(), foreach=items, outputs=files),
    )


def read(name: str, files: Value) -> Step:
    return sh(name, "true", inputs=[given("files", files, "file", "files", many=True)])


def templates(*steps: Step) -> dict[str, t.Any]:
    workflow = resolve_defaults(flow("no-files", *steps))
    text = ArgoBackend().compile(workflow, Target(), format="json").to_text()
    return {one["name"]: one for one in json.loads(text)["spec"]["templates"]}


def task(template: t.Any, name: str) -> t.Any:
    [found] = [one for one in template["dag"]["tasks"] if one["name"] == name]
    return found


@pytest.mark.parametrize("items", [[], rng(count=0), ref("list"), rng(count=part(ref("list"), 0))])
def test_in_the_place_of_no_files_is_an_archive_of_nothing(items: object) -> None:
    found = templates(*written(items), read("all", ref("write", "f")))
    [nothing] = found["main"]["inputs"]["artifacts"]
    assert nothing["archive"] == {"zip": {}}
    with zipfile.ZipFile(io.BytesIO(nothing["raw"]["data"].encode())) as archive:
        assert archive.namelist() == []
    [instead] = task(found["main"], "all")["arguments"]["artifacts"]
    assert instead == {
        "name": "files",
        "optional": True,
        "from": "{{=(tasks.write.outputs?.parameters?.f ?? '[]') == '[]' ? "
        "'inputs.artifacts.couler-nothing' : 'none'}}",
    }
    [own] = found["all"]["inputs"]["artifacts"]  # what Argo takes where there are files
    assert own["s3"] == {"key": "{{workflow.name}}/write/f"}
    assert "optional" not in own
