"""Cached steps on Argo: their keys and config maps, their files, and what is refused."""

from __future__ import annotations

import json
import typing as t

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.argo.memo_limits import entry_bytes
from couler.backends.base import Target
from couler.backends.shared_entries import repository_mark
from couler.errors import EngineOptionError
from couler.ir.artifacts import FileRemoval, FileSettings, RepositoryRef, RunFileRemoval
from couler.ir.defaults import resolve_defaults
from couler.ir.policies import Cache
from couler.ir.workflow import Output, Step, Workflow
from tests.corpus.build import flow, given, group, item, on_completion, ref, sh
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


def config_map(workflow: Workflow, name: str, **options: object) -> str:
    memoize = template(workflow, name, **options)["memoize"]
    return str(memoize["cache"]["configMap"]["name"])


def made(name: str = "make", **fields: t.Any) -> Step:
    fields = {"cache": Cache(), "outputs": (FILE,), **fields}
    return sh(name, "touch $COULER_WORK/f", result=None, **fields)


def argument(workflow: Workflow, task: str, name: str = "data") -> str:
    tasks = {one["name"]: one for one in template(workflow, "main")["dag"]["tasks"]}
    parameters = {one["name"]: one["value"] for one in tasks[task]["arguments"]["parameters"]}
    return str(parameters[name])


def reader(**fields: t.Any) -> Step:
    return sh(
        "read", "cat $COULER_INPUT_data", inputs=[given("data", ref("make", "f"), "file")], **fields
    )


def test_a_reader_is_told_by_the_cached_step_where_its_file_is() -> None:
    workflow = flow("w", made(), reader())
    assert argument(workflow, "read") == "{{tasks.make.outputs.parameters.f}}"
    own = argument(workflow, "make", "couler_key_f")
    assert own == "{{workflow.name}}/make/f"
    [told] = template(workflow, "make")["outputs"]["parameters"]
    assert told == {"name": "f", "value": "{{inputs.parameters.couler_key_f}}"}
    plain = flow("w", made(cache=None), reader())
    assert argument(plain, "read") == own
    assert "parameters" not in template(plain, "make")["outputs"]


def test_where_the_cached_step_may_have_failed_its_own_place_stands_for_it() -> None:
    text = argument(flow("w", made(), reader(depends_on=(on_completion("make"),))), "read")
    assert text.startswith("{{=(tasks.make.outputs?.parameters?.f ?? (")
    assert "'/make/f'" in text


@pytest.mark.parametrize(
    "files", [None, FileSettings(removal=RunFileRemoval(on="deletion"))], ids=["kept", "removed"]
)
def test_files_of_cached_steps_outlive_their_run(files: FileSettings | None) -> None:
    workflow = flow("w", made(), made("other", cache=None), files=files)
    [kept] = template(workflow, "make")["outputs"]["artifacts"]
    assert kept["artifactGC"] == {"strategy": "Never"}
    [other] = template(workflow, "other")["outputs"]["artifacts"]
    assert "artifactGC" not in other
    of_run = None if files is None else {"strategy": "OnWorkflowDeletion"}
    assert spec(workflow).get("artifactGC") == of_run


@pytest.mark.parametrize(("maps", "digits"), [(1, 0), (16, 1), (256, 2)])
def test_the_first_digits_of_a_key_tell_its_config_map(maps: int, digits: int) -> None:
    workflow = flow("w", made(), sh("each", "echo $1", item(), foreach=["a", "b"], cache=Cache()))
    key = template(workflow, "make")["memoize"]["key"]
    suffix = f"-{key[:digits]}" if digits else ""
    assert config_map(workflow, "make", memo_maps=maps) == f"couler-w{suffix}"
    expression = template(workflow, "each")["memoize"]["key"].removeprefix("{{=")[:-2]
    suffix = f"-{{{{={expression}[0:{digits}]}}}}" if digits else ""
    assert config_map(workflow, "each", memo_maps=str(maps)) == f"couler-w{suffix}"


def marks(workflow: Workflow, name: str, **options: object) -> list[str]:
    outputs = template(workflow, name, **options).get("outputs", {}).get("parameters", ())
    return [one["value"] for one in outputs if one["name"] == "couler_repository"]


def test_an_entry_tells_which_repository_its_files_are_in() -> None:
    plain = flow("w", made(), made("other", cache=None), sh("value", "echo 1", cache=Cache()))
    assert [marks(plain, name) for name in ("make", "other", "value")] == [[], [], []]
    url = "s3://artifacts"
    [mark] = marks(plain, "make", repository=url)
    assert mark == repository_mark(f"{url}/")
    assert [marks(plain, name, repository=url) for name in ("other", "value")] == [[], []]
    assert marks(plain, "make", repository="s3://others") != [mark]
    chosen = FileSettings(repository=RepositoryRef(config_map="repositories", key="team-a"))
    [stated] = marks(flow("w", made(), files=chosen), "make")
    [both] = marks(flow("w", made(), files=chosen), "make", repository=url)
    assert len({mark, stated, both}) == 3


def test_the_repository_is_no_part_of_a_key() -> None:
    plain, marked = (
        template(flow("w", made()), "make", **options)["memoize"]
        for options in ({}, {"repository": "s3://artifacts"})
    )
    assert plain == marked


def test_a_cache_with_a_name_is_the_config_map_of_that_name() -> None:
    workflow = flow("w", made(cache=Cache(name="results.v1")))
    assert config_map(workflow, "make") == "results.v1"


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
