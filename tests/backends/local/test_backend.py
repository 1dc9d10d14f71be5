"""What the local engine declares, refuses and compiles."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from couler.backends.base import Backend, Target
from couler.backends.local import LocalBackend
from couler.errors import EngineOptionError, InvalidWorkflowError, UnsupportedFeatureError
from couler.ir.features import Feature
from couler.ir.serialize import read_json, read_yaml
from couler.ir.workflow import Container, Step
from tests.corpus import cases
from tests.corpus.build import flow, given, out, sh

LOCAL = LocalBackend()


def test_is_a_backend() -> None:
    assert isinstance(LOCAL, Backend)


@pytest.mark.parametrize("runtime", ["process", "podman"])
def test_every_feature_has_an_entry_with_words(runtime: str) -> None:
    capabilities = LOCAL.capabilities(Target(options={"runtime": runtime}))
    assert set(capabilities) == set(Feature)
    for support in capabilities.values():
        words = next(iter(asdict(support).values()), "native")
        assert isinstance(words, str)
        assert words
        assert not words.endswith(".")


def test_what_it_cannot_do_is_refused_before_the_start_and_told_at_once() -> None:
    workflow = flow(
        "w",
        sh("serve", "true", daemon=True),
        Step(name="image", action=Container(image="busybox")),
    )
    with pytest.raises(UnsupportedFeatureError) as caught:
        LOCAL.run(workflow)
    steps = [diagnostic.step for diagnostic in caught.value.diagnostics]
    assert steps == ["serve", "image"]


def test_paths_outside_the_folder_are_refused() -> None:
    workflow = flow(
        "w",
        sh("a", "true", outputs=[out("x", path="../x"), out("y", path="ok/y")]),
        sh("b", "true", inputs=[given("f", "f", "file", "../f")]),
        engine={"local": {"x": 1}, "argo": {}},
    )
    found = [(problem.code, problem.step) for problem in LOCAL.check(workflow, Target())]
    assert found == [("CLR361", "a"), ("CLR361", "b"), ("CLR362", None)]
    with pytest.raises(InvalidWorkflowError, match=r"\.\./x"):
        LOCAL.run(workflow)


def test_compiled_workflow_is_the_workflow() -> None:
    for case in cases():
        yaml = LOCAL.compile(case.workflow, Target())
        json = LOCAL.compile(case.workflow, Target(profile="local"), format="json")
        assert yaml.files[0].name == f"{case.workflow.name}.yaml"
        assert read_yaml(yaml.to_text()) == case.workflow
        assert read_json(json.to_text()) == case.workflow


def test_unknown_formats_profiles_and_options_are_refused() -> None:
    workflow = flow("w", sh("a", "true"))
    with pytest.raises(EngineOptionError, match=r"no format 'jsn'.*Did you mean \"json\""):
        LOCAL.compile(workflow, Target(), format="jsn")
    with pytest.raises(EngineOptionError, match="no profile"):
        LOCAL.capabilities(Target(profile="cloud"))
    with pytest.raises(EngineOptionError, match="no option 'speed'"):
        LOCAL.compile(workflow, Target(options={"speed": 2}))
