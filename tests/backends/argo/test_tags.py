"""Text of the user's that holds tags of Argo reaches what it is for unchanged, or is refused."""

from __future__ import annotations

import json
import re
import shlex
import typing as t
from collections.abc import Iterator

import pytest
import yaml
from hypothesis import example, given, settings, strategies as st

from couler.backends.argo import ArgoBackend
from couler.backends.argo.tags import Tagged, foreign_tags, has_tag
from couler.backends.base import Target
from couler.errors import SerializationError
from couler.ir.artifacts import GitLocation, S3Location
from couler.ir.base import FrozenDict
from couler.ir.defaults import resolve_defaults
from couler.ir.storage import EnvVar, HostVolume
from couler.ir.verify import verify
from couler.ir.workflow import Container, Http, Input, Plugin, Step, Workflow
from tests.support import ir_texts
from tests.support.ir_texts import Place
from tests.support.mills import argo, kubelet

MARK = "Zq7"
"""Text without a meaning for anybody, in place of the hostile one."""
BRACES = {"COULER_BRACE": "{"}
ENCODING = re.compile(r"replace\(([^,]*|replace\([^)]*\)), '(?:\\ufdd0|{\\u007b)', '[^']*'\)")
"""What braces that travel encoded add to an expression."""
TAGS = ["{{item}}{{=1+1}}", "{{workflow.name}} {{", "{$(HOME){{inputs.parameters.x}}$$"]
PLACES = {
    key: place
    for key, place in ir_texts.places().items()
    # What `engine` says is meant for Argo, tags included; a pattern becomes another expression.
    if place.field[1] != "engine" and place.field != ("ListFiles", "pattern")
}
hostile = st.sampled_from(TAGS) | st.lists(
    st.sampled_from(
        ["{{", "}}", "{", "}", "=", "item", "workflow.name", " ", "$(", "$$", "x", "1"]
    ),
    min_size=1,
    max_size=8,
).map("".join)


def tree_of(workflow: Workflow) -> t.Any | None:
    """The spec of the manifest, or None if the workflow is refused."""
    resolved = resolve_defaults(workflow)
    backend = ArgoBackend()
    found = verify(resolved)
    if not any(one.severity == "error" for one in found):
        found = tuple(backend.check(resolved, Target()))
    if any(one.severity == "error" for one in found):
        return None
    assert backend._last is not None
    return backend._last[2].tree["spec"]


def compiled(place: Place, change: t.Callable[[str], str]) -> t.Any | None:
    try:
        workflow = place.with_text(change)
    except SerializationError:
        return None
    return tree_of(workflow)


def without_brace_variables(tree: t.Any) -> t.Any:
    if isinstance(tree, dict):
        return {
            key: without_brace_variables(value)
            for key, value in tree.items()
            if not (key == "memoize" or (key == "name" and value == "COULER_BRACE"))
        }
    if isinstance(tree, list):
        return [
            without_brace_variables(value)
            for value in tree
            if not (isinstance(value, dict) and value.get("name") == "COULER_BRACE")
        ]
    return tree


def texts(tree: t.Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[t.Any, str]]:
    if isinstance(tree, str):
        yield place, tree
    elif isinstance(tree, dict):
        for key, value in tree.items():
            yield (*place, "KEY"), key
            yield from texts(value, (*place, key))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from texts(value, (*place, index))


def check_arrives(found: t.Any, model: t.Any, text: str) -> None:
    """Compare what Argo is given for a hostile text with what it is given for a harmless one."""
    pairs = list(zip(texts(found), texts(model), strict=False))
    if [place for place, _ in texts(found)] != [place for place, _ in texts(model)]:
        # Another way was chosen for the text, such as another template; nothing is read in it.
        assert not list(foreign_tags(found))
        return
    for (place, one), (_, other) in pairs:
        if isinstance(one, Tagged) and "podMetadata" in place:
            assert not has_tag(one), place  # what has one is refused
            continue
        if isinstance(one, Tagged):
            assert isinstance(other, Tagged), place
            assert one.count("{{") == other.count("{{"), (place, one)
            if MARK.lower() not in other.lower():
                assert ENCODING.sub(r"\1", one) == ENCODING.sub(r"\1", other), place
            continue
        if MARK not in other:
            assert one == other, place
            continue
        seen = [argo(one), kubelet(argo(one), BRACES)]  # Argo reads nothing in it
        seen.append(seen[0].replace("\ufdd0", "{{"))
        assert any(is_same(way, other, text) for way in seen), (place, one, other)


def is_same(seen: str, model: str, text: str) -> bool:
    if seen == model.replace(MARK, text):
        return True
    for read in (json.loads, yaml.safe_load, shlex.split):
        try:
            values = read(seen), read(model)
        except (ValueError, yaml.YAMLError):
            continue
        if [one for _, one in texts(values[0])] == [
            one.replace(MARK, text) for _, one in texts(values[1])
        ]:
            return True
    return False


def check_place(place: Place, text: str) -> None:
    for keeps in (False, True):
        found = compiled(place, lambda old, keeps=keeps: old * keeps + text)
        if found is None:
            continue
        model = compiled(place, lambda old, keeps=keeps: old * keeps + MARK)
        if model is not None:
            check_arrives(without_brace_variables(found), without_brace_variables(model), text)


def test_there_is_a_sample_for_every_field_with_text() -> None:
    """If this fails, add a workflow that states the field to `tests.support.ir_texts`."""
    stated = {place.field for place in ir_texts.places().values()}
    assert ir_texts.text_fields() - stated == set()


@pytest.mark.parametrize("owner", sorted({key[0] for key in PLACES}))
def test_a_tag_in_any_field_is_text_or_refused(owner: str) -> None:
    for key, place in PLACES.items():
        if key[0] == owner:
            for text in TAGS:
                check_place(place, text)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(PLACES)), hostile)
@example(("Step.action", "Script.packages"), "}}")
def test_any_text_in_any_field_is_text_or_refused(key: ir_texts.Key, text: str) -> None:
    check_place(PLACES[key], text)


def step(**fields: t.Any) -> Workflow:
    action = fields.pop("action", Container(image="alpine:3", command=("true",)))
    return Workflow(name="w", steps=(Step(name="a_b", action=action, **fields),))


S3 = S3Location(key="k", bucket="b")
TAG = "{{workflow.name}}"


@pytest.mark.parametrize(
    ("workflow", "field"),
    [
        (step(working_dir=f"/{TAG}"), "container.workingDir"),
        (step(annotations={"note": TAG}), "metadata.annotations.note"),
        (step(display_name=TAG), "annotations.workflows.argoproj.io/display-name"),
        (
            step(inputs=(Input(name="f", type="file", path=f"/{TAG}", at=S3),)),
            "inputs.artifacts.f.path",
        ),
        (
            step(inputs=(Input(name="f", type="file", at=S3.model_copy(update={"bucket": TAG})),)),
            "inputs.artifacts.f.s3.bucket",
        ),
        (
            step(
                inputs=(
                    Input(
                        name="f",
                        type="file",
                        at=GitLocation(repository="https://x.org", fetch=("refs/x", TAG)),
                    ),
                )
            ),
            "inputs.artifacts.f.git.fetch.1",
        ),
        (step(action=Http(url="https://x.org", body=TAG)), "http.body"),
        (
            step(
                action=Http(url="https://x.org", headers=(EnvVar(name="X", value=TAG),)),
            ),
            "http.headers.X.value",
        ),
        (step(action=Plugin(name="p", body={TAG: "x"})), "plugin.p"),
        (
            Workflow(
                name="w",
                steps=step().steps,
                volumes=(HostVolume(name="v", path=f"/{TAG}"),),
            ),
            "volumes.v.hostPath.path",
        ),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_the_message_names_the_field_and_the_step(workflow: Workflow, field: str) -> None:
    problems = list(ArgoBackend().check(workflow, Target()))
    assert {problem.code for problem in problems} == {"CLR310"}
    whose = "the workflow" if field.startswith("volumes") else 'step "a_b"'
    assert any(f"argo: {field} of {whose} holds " in one.message for one in problems), problems


def test_a_tag_in_any_kind_of_object_is_found() -> None:
    assert list(foreign_tags({"a": FrozenDict(b="{{item}}")})) == [(("a", "b"), "{{item}}")]
