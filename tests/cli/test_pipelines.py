"""`--pipeline`, `--pass` and `--no-pass`, and what the settings say of pipelines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from couler.optimizers import pipeline
from tests.cli.conftest import Engine

pytestmark = pytest.mark.usefixtures("samples")


@pytest.fixture
def settings(folder: Path) -> Callable[[str], None]:
    """Write what stands below [tool.couler]."""

    def write(text: str) -> None:
        (folder / "pyproject.toml").write_text(f"[tool.couler]\n{text}")

    return write


@pytest.fixture
def ran(couler: Callable, greet: str) -> Callable[..., list[str]]:
    """Return what `couler plan` says that ran, with options that are not the defaults."""

    def call(*arguments: str) -> list[str]:
        told = couler("plan", greet, "--format", "json", *arguments)
        assert (told.code, told.err) == (0, ""), told.err
        return [
            one["pass"] + "".join(f" {value}" for value in one["options"].values())
            for one in told.json["passes"]
        ]

    return call


def test_flags(ran: Callable) -> None:
    assert ran("--pipeline", "none") == []
    assert ran("--pipeline", "none", "--pass", "wrap-steps{into=x}", "--pass", "reverse-steps") == [
        "wrap-steps x",
        "reverse-steps",
    ]


def test_named_pipelines(ran: Callable, settings: Callable) -> None:
    settings('pipelines = { mine = ["wrap-steps{into=whole}", "reverse-steps"] }\n')
    assert ran("--pipeline", "mine") == ["wrap-steps whole", "reverse-steps"]
    assert ran("--pipeline", "mine", "--no-pass", "wrap-steps") == ["reverse-steps"]
    assert ran("--pipeline", "mine", "--pass", "wrap-steps{into=y}") == [
        "wrap-steps y",
        "reverse-steps",
    ]


def test_default_passes_run_unless_they_are_left_out(
    ran: Callable, couler: Callable, greet: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "_DEFAULT_PASSES", ("wrap-steps", "reverse-steps"))
    assert ran() == ["wrap-steps part", "reverse-steps"]
    assert ran("--no-pass", "wrap-steps") == ["reverse-steps"]
    assert ran("--pass", "wrap-steps{into=x}") == ["wrap-steps x", "reverse-steps"]
    assert ran("--pipeline", "none") == []
    monkeypatch.setattr(pipeline, "_DEFAULT_PASSES", ("lose-a-step",))
    for command in ("compile", "validate", "plan"):
        assert couler(command, greet, "-e", "argo").code == 1
        assert couler(command, greet, "-e", "argo", "--no-pass", "lose-a-step").code == 0
    assert couler("run", greet).code == 1
    assert couler("run", greet, "--no-pass", "lose-a-step").code == 0


def test_setting_and_variable(
    ran: Callable, settings: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings('pipeline = "mine"\npipelines.mine = ["reverse-steps"]\npipelines.other = []\n')
    assert ran() == ["reverse-steps"]
    assert ran("--pipeline", "other") == []
    monkeypatch.setenv("COULER_PIPELINE", "other")
    assert ran() == []


@pytest.mark.parametrize(
    ("text", "arguments", "code", "problem"),
    [
        ("", ["--pipeline", "non"], 2, 'there is no pipeline "non"; there are: default, none'),
        ("", ["--pass", "wrap-steps{x=1}"], 2, 'character 12: wrap-steps has no option "x"; it ha'),
        ("", ["--pass", "wrap-steps=1"], 2, "options stand in braces"),
        ("", ["--no-pass", "nothing"], 2, 'there is no pass "nothing" to leave out'),
        ('pipeline = "gone"', [], 3, 'pyproject.toml: there is no pipeline "gone"'),
        ('pipelines.a = ["gone"]', ["--pipeline", "a"], 3, 'pipeline "a": there is no pass "gone"'),
        ('pipelines.none = ["x"]', [], 3, "is there already"),
        ('pipelines.a = "x"', [], 3, "pipelines"),
        ('pipelines.bad3 = "split"', [], 3, "bad3"),
        (
            'pipelines.b = ["split{group_steps=20}", "reverse-steps", "split{group_steps=10}"]',
            ["--pipeline", "b"],
            3,
            'pyproject.toml: pipeline "b": the pass "split" stands in it twice',
        ),
        ("pipelines = 3", [], 3, "pipelines"),
        ('targets.a = {engine = "argo", pipeline = 3}', ["--target", "a"], 3, "must be a text"),
        (
            'targets.a = {engine = "argo", pipeline = "no"}',
            ["--target", "a"],
            3,
            'target "a": there is no pipeline "no"',
        ),
    ],
)
def test_wrong_choices(
    couler: Callable,
    greet: str,
    settings: Callable,
    text: str,
    arguments: list[str],
    code: int,
    problem: str,
) -> None:
    settings(text + "\n")
    told = couler("plan", greet, *arguments)
    assert (told.code, told.out) == (code, "")
    assert problem in told.err


def test_what_is_compiled(couler: Callable, greet: str) -> None:
    plain = couler("compile", greet, "-e", "argo")
    tagged = couler("compile", greet, "-e", "argo", "--pass", "tag-steps{key=team,values=[a,b]}")
    assert (plain.code, tagged.code) == (0, 0)
    assert "team: a-b" not in plain.out
    assert "team: a-b" in tagged.out


def test_what_is_run(couler: Callable, greet: str, settings: Callable) -> None:
    settings('pipeline = "p"\npipelines.p = ["wrap-steps{into=all}"]\n')
    told = couler("run", greet, "--format", "json")
    assert told.code == 0, told.err
    assert {step["path"] for step in told.json["steps"]} == {"hello", "again"}
    broken = couler("run", greet, "--pass", "lose-a-step")
    assert broken.code == 1
    assert 'the pass "lose-a-step" made a workflow that is not valid' in broken.err


def test_submit_takes_the_pipeline_of_the_target(
    couler: Callable, greet: str, engine: Engine, settings: Callable
) -> None:
    settings(
        'pipelines.p = ["lose-a-step"]\n'
        '[tool.couler.targets.away]\nengine = "scripted"\nfolder = "away"\npipeline = "p"\n'
    )
    told = couler("submit", greet, "--target", "away")
    assert told.code == 1
    assert 'the pass "lose-a-step" made' in told.err
    engine.play({"status": "succeeded"})
    assert couler("submit", greet, "--target", "away", "--pipeline", "none").code == 0


def test_retry_of_the_recorded_workflow_has_no_passes(
    couler: Callable, write: Callable, settings: Callable
) -> None:
    file = write(
        "fails.yaml",
        """
        ir_version: "1"
        name: fails
        steps:
        - name: a
          action: {kind: container, image: busybox, command: ["false"]}
        - name: b
          action: {kind: container, image: busybox, command: ["true"]}
          depends_on: [a]
        """,
    )
    assert couler("run", file).code == 1
    settings('pipeline = "p"\npipelines.p = ["lose-a-step"]\n')
    told = couler("retry", "latest", "--plan", "--format", "json")
    assert [step["path"] for step in json.loads(told.out)["steps"]] == ["a", "b"]
    assert 'the pass "lose-a-step" made' in couler("retry", "latest", "--file", file).err
    refused = couler("retry", "latest", "--pass", "reverse-steps")
    assert (refused.code, "are for a changed workflow: give --file" in refused.err) == (2, True)
    unknown = couler("retry", "latest", "--file", file, "--pass", "no-such-pass")
    assert (unknown.code, "no-such-pass" in unknown.err) == (2, True)


WIDE = """
import couler
with couler.Workflow("wide"):
    for n in range(250):
        couler.run_container("busybox", ["true"], [n], step_name=f"s-{n}")
"""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--pipeline", "tidy"), 'The pipeline "tidy" has no pass split, which divides'),
        (("--pipeline", "none"), 'The pipeline "none" has no pass split, which divides'),
        (("--no-pass", "split"), "The pass split, which divides what is too large, is left out."),
    ],
)
def test_what_is_too_large_is_told_with_the_pass_that_did_not_run(
    couler: Callable,
    write: Callable[[str, str], str],
    settings: Callable,
    arguments: tuple[str, ...],
    told: str,
) -> None:
    settings('pipelines = { tidy = ["remove-redundant-edges"] }\n')
    flow = write("wide.py", WIDE)
    for command in ("compile", "plan", "validate"):
        found = couler(command, flow, "-e", "argo", *arguments)
        assert found.code == 1
        assert "CLR511" in found.out + found.err
        assert told in found.out + found.err
    assert couler("compile", flow, "-e", "argo").code == 0


@pytest.mark.parametrize(
    "flags", [("--option", "foo=1"), ("--engine-version", "9"), ("--profile", "nix")]
)
def test_options_of_the_engine_are_not_blamed_on_a_pass(
    couler: Callable, greet: str, flags: tuple[str, ...]
) -> None:
    for command in ("plan", "compile", "validate"):
        told = couler(command, greet, "-e", "argo", *flags)
        assert told.code == 2
        assert flags[1].partition("=")[0] in told.err
        assert "pass" not in told.err
