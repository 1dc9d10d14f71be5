"""`couler show`, `couler plan` and `couler engines`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from couler.backends import backend_names
from couler.ir.features import Feature
from couler.show import FORMATS

DOCS = Path(__file__).resolve().parents[2] / "docs"
GENERATED = "<!-- Below is what `couler engines --format markdown` prints; do not edit it. -->\n"


@pytest.mark.parametrize("kind", FORMATS)
def test_every_picture(couler: Callable, greet: str, folder: Path, kind: str) -> None:
    told = couler("show", greet, "--as", kind)
    assert (told.code, told.err) == (0, "")
    assert "hello" in told.out
    assert couler("show", greet, "--as", kind, "-o", "out") == (0, "", "")
    assert (folder / "out").read_text() == told.out


def test_workflow_with_mistakes_is_drawn(couler: Callable, write: Callable) -> None:
    file = write(
        "loop.yaml",
        """
        ir_version: "1"
        name: loop
        steps:
        - {name: a, action: {kind: container, image: b}, depends_on: [b, nobody]}
        - {name: b, action: {kind: container, image: b}, depends_on: [a]}
        """,
    )
    for kind in FORMATS:
        assert couler("show", file, "--as", kind).code == 0


def test_unknown_picture(couler: Callable, greet: str) -> None:
    assert couler("show", greet, "--as", "png").code == 2


def test_plan_without_passes_says_so(couler: Callable, greet: str) -> None:
    told = couler("plan", greet, "-e", "argo", "--pipeline", "none")
    assert (told.code, told.err) == (0, "")
    title, _, head, whole, _, known, _, log = told.out.splitlines()
    assert title == 'plan of "greet" for argo'
    assert head.split()[:4] == ["took", "steps", "edges", "bytes"]
    assert whole.startswith("all passes  0.000 s      2      1 ")
    assert whole.split()[-3:] == ["unknown", "unknown", "unknown"]
    assert known == "estimates: seconds are known of 0 of 2 steps, memory of 0; no prices are set"
    assert log == "no passes ran"


def test_plan_tells_of_defaults(couler: Callable, greet: str) -> None:
    with Path(greet).open("a") as file:
        file.write("defaults: {timeout_s: 60.0}\n")
    told = couler("plan", greet)
    assert told.out.startswith('plan of "greet" for any engine\n')
    assert "resolve-defaults" in told.out
    assert "~ hello: timeout_s" in told.out
    report = couler("plan", greet, "--pipeline", "none", "--format", "json").json
    assert report["schema_version"] == 1
    assert [one["pass"] for one in report["passes"]] == ["resolve-defaults"]
    assert report["before"]["steps"] == report["after"]["steps"] == 2


def test_plan_lists_what_is_merged_in_last(couler: Callable, greet: str) -> None:
    with Path(greet).open("a") as file:
        file.write("engine: {argo: {spec: {priority: 5}}, argoo: {}}\n")
    told = couler("plan", greet, "-e", "argo")
    assert told.code == 0
    assert '    argo, the workflow: {"spec": {"priority": 5}}\n' in told.out
    assert "    argoo" not in told.out
    assert "CLR302 warning" in told.out
    everywhere = couler("plan", greet, "--format", "json").json
    assert everywhere["overrides"] == [
        {"engine": "argo", "step": None, "content": {"spec": {"priority": 5}}},
        {"engine": "argoo", "step": None, "content": {}},
    ]
    [warning] = everywhere["diagnostics"]
    assert 'Did you mean "argo"?' in warning["message"]


def test_what_an_engine_ignores_is_reported_once_with_the_reason(
    couler: Callable, greet: str
) -> None:
    with Path(greet).open("a") as file:
        file.write("labels: {team: a}\nkeep_s: 60\n")
    note = (
        "note: local ignores keep-after-end (runs stay until `couler delete`); "
        "labels (nothing here could be found by them)\n"
    )
    assert couler("run", greet).err.count(note) == 1
    assert couler("compile", greet, "-e", "local").err == note
    assert note in couler("plan", greet, "-e", "local").out
    report = couler("plan", greet, "-e", "local", "--format", "json").json
    assert [one["feature"] for one in report["ignored"]] == ["keep-after-end", "labels"]
    assert couler("plan", greet, "-e", "argo", "--format", "json").json["ignored"] == []


def test_unknown_pass(couler: Callable, greet: str) -> None:
    told = couler("plan", greet, "--pass", "no-such-pass")
    assert (told.code, told.out) == (2, "")
    assert 'there is no pass "no-such-pass"' in told.err


def test_table_of_engines(couler: Callable) -> None:
    told = couler("engines")
    assert (told.code, told.err) == (0, "")
    lines = told.out.splitlines()
    assert lines[0].split() == ["feature", *backend_names()]
    rows = {
        line.split()[0]: dict(zip(backend_names(), line.split()[1:], strict=True))
        for line in lines[2:]
    }
    assert set(Feature) == set(rows)
    assert rows["job"]["argo"] == "native"
    assert rows["job"]["local"] == "no"
    assert "\x1b" not in told.out
    explained = couler("engines", "local", "-v").out
    assert explained.splitlines()[0].split() == ["feature", "local"]
    assert "no: " in explained


def test_engines_as_json(couler: Callable) -> None:
    report = couler("engines", "--format", "json").json
    assert report["schema_version"] == 1
    assert [engine["name"] for engine in report["engines"]] == list(backend_names())
    for engine in report["engines"]:
        assert list(engine["features"]) == [feature.value for feature in Feature]
    [local] = (engine["features"] for engine in report["engines"] if engine["name"] == "local")
    assert local["job"]["support"] == "unsupported"
    assert local["job"]["reason"]


def test_unknown_engine(couler: Callable) -> None:
    assert couler("engines", "argoo").code == 2


@pytest.mark.golden
@pytest.mark.checkout
def test_page_of_engines_is_generated(couler: Callable, golden: Callable) -> None:
    page = DOCS / "engines.md"
    prose = page.read_text(encoding="utf-8").partition(GENERATED)[0]
    golden(page, prose + GENERATED + "\n" + couler("engines", "--format", "markdown").out)


@pytest.mark.checkout
def test_page_of_the_command_line_names_every_command(couler: Callable) -> None:
    from couler.cli._app import COMMANDS

    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    for name in COMMANDS:
        assert f"\n## {name}\n" in page
