"""`couler plan`: its table, its JSON, its pictures and its dumps."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from couler import stages
from couler.errors import InvalidWorkflowError
from couler.ir.serialize import read_json
from couler.ir.workflow import Container, Step, Workflow

pytestmark = pytest.mark.usefixtures("samples")

FLOW = """
ir_version: "1"
name: flow
steps:
- name: load
  action: {kind: container, image: busybox, command: ["true"]}
  profile: {seconds: 60, memory_bytes: 1073741824}
  resources: {cpu: "2"}
- name: fit
  action: {kind: container, image: busybox, command: ["true"]}
  depends_on: [load]
  profile: {seconds: 540}
  resources: {cpu: "2", memory: 4Gi}
- name: tell
  action: {kind: container, image: busybox, command: ["true"]}
  depends_on: [fit]
"""


@pytest.fixture
def flow(write: Callable[[str, str], str]) -> str:
    """Three steps in a row, of which two say how long they take and one more what it holds."""
    return write("flow.yaml", FLOW)


WRAP = ("--pipeline", "none", "--pass", "tag-steps{key=team}", "--pass", "wrap-steps")


def test_table_and_reasons(couler: Callable, flow: str) -> None:
    told = couler("plan", flow, "-e", "argo", *WRAP)
    assert (told.code, told.err) == (0, "")
    title, _, head, tag, wrap, whole, _, known, _, *reasons = told.out.splitlines()
    assert title == 'plan of "flow" for argo'
    assert head.split()[-4:] == ["path", "peak", "memory", "cost"]
    assert wrap.startswith("wrap-steps ")
    assert tag.startswith("tag-steps{key=team} ")
    for line in (wrap, whole):
        assert "3 -> 4" in line
        assert ">= 600.0 s" in line
        assert ">= 4.0 GiB" in line
        assert line.endswith("unknown")
    assert tag.split()[3:5] == ["3", "2"]
    assert known == (
        "estimates: seconds are known of 2 of 3 steps (groups and exit handlers of a failure "
        "apart), memory of 2; no prices are set"
    )
    assert reasons == [
        "tag-steps{key=team}",
        "    3 steps are team.",
        "    ~ load: labels",
        "    ~ fit: labels",
        "    ~ tell: labels",
        "wrap-steps",
        "    3 steps make one group.",
        "    + part",
        "    > load is now part/load",
        "    > fit is now part/fit",
        "    > tell is now part/tell",
    ]


def test_svg(couler: Callable, flow: str, folder: Path) -> None:
    told = couler("plan", flow, *WRAP, "--as", "svg", "-o", "plan.svg")
    assert (told.code, told.out, told.err) == (0, "", "")
    text = (folder / "plan.svg").read_text()
    assert len(list(ET.fromstring(text))) == 2
    assert "flow: before" in text
    assert "flow: after" in text


@pytest.mark.parametrize("kind", ["mermaid", "dot"])
def test_graphs(couler: Callable, flow: str, kind: str) -> None:
    told = couler("plan", flow, *WRAP, "--as", kind)
    assert (told.code, told.err) == (0, "")
    assert told.out.count("load") >= 2
    assert told.out.count("subgraph") == 3


def test_page_needs_nothing_from_elsewhere(couler: Callable, flow: str) -> None:
    seen: list[tuple[str, dict[str, str | None]]] = []
    texts: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            seen.append((tag, dict(attrs)))

        def handle_data(self, data: str) -> None:
            texts.append(data)

    with Path(flow).open("a") as file:
        file.write("description: '<script>alert(1)</script>'\n")
        file.write("engine: {argo: {metadata: {annotations: {a: '</ul><script>'}}}}\n")
    told = couler("plan", flow, "-e", "argo", *WRAP, "--as", "html")
    assert (told.code, told.err) == (0, "")
    Reader().feed(told.out)
    tags = [tag for tag, _ in seen]
    assert tags.count("svg") == 2
    assert tags.count("table") == 1
    assert not {"script", "link", "img", "iframe"} & set(tags)
    assert not any(name in attributes for _, attributes in seen for name in ("src", "href"))
    text = "".join(texts)
    for told_too in ("3 steps make one group.", "> fit is now part/fit", "</ul><script>", "≥ 600"):
        assert told_too in text


def test_picture_or_report(couler: Callable, flow: str) -> None:
    told = couler("plan", flow, "--as", "svg", "--format", "json")
    assert told.code == 2
    assert couler("plan", flow, "--as", "tree").code == 2


def test_compile_tells_of_passes_who_wants_to_know(couler: Callable, flow: str) -> None:
    assert couler("compile", flow, "-e", "argo", *WRAP).err == ""
    told = couler("compile", flow, "-e", "argo", *WRAP, "-v").err.splitlines()
    passes = [line for line in told if line.startswith("pass ")]
    assert [line.split()[1] for line in passes] == ["tag-steps:", "wrap-steps:"]
    assert passes[1].endswith(" s. 3 steps make one group.")


class TestDump:
    def test_files_in_order(self, couler: Callable, flow: str, folder: Path) -> None:
        with Path(flow).open("a") as file:
            file.write("defaults: {timeout_s: 60.0}\n")
        told = couler("plan", flow, *WRAP, "--dump", "out/steps")
        assert (told.code, told.err) == (0, "wrote 4 files into out/steps\n")
        files = sorted((folder / "out/steps").iterdir())
        assert [file.name for file in files] == [
            "00-source.json",
            "01-resolve-defaults.json",
            "02-tag-steps.json",
            "03-wrap-steps.json",
        ]
        flows = [read_json(file.read_text()) for file in files]
        assert flows[0].defaults is not None
        assert flows[1].steps[0].timeout_s == 60
        assert dict(flows[2].steps[0].labels) == {"team": "yes"}
        assert [step.name for step in flows[3].steps] == ["part"]
        shown = couler("plan", flow, *WRAP, "--format", "json").json
        assert shown["after"]["steps"] == 4

    def test_what_a_broken_pass_made_is_there(
        self, couler: Callable, flow: str, folder: Path
    ) -> None:
        told = couler("plan", flow, "--pass", "lose-a-step", "--dump", "out")
        assert told.code == 1
        assert 'the pass "lose-a-step" made' in told.err
        broken = json.loads(max((folder / "out").iterdir()).read_text())
        assert [step["name"] for step in broken["steps"]] == ["fit", "tell"]

    def test_files_of_an_earlier_plan_are_told_of(
        self, couler: Callable, flow: str, folder: Path
    ) -> None:
        couler("plan", flow, *WRAP, "--dump", "out")
        (folder / "out/notes.txt").write_text("mine")
        told = couler("plan", flow, "--pipeline", "none", "--dump", "out")
        assert "note: out has 01-tag-steps.json, 02-wrap-steps.json of an earlier" in told.err

    def test_folder_that_cannot_be(self, couler: Callable, flow: str, folder: Path) -> None:
        told = couler("plan", flow, "--dump", f"{flow}/out")
        assert told.code == 3
        assert "--dump flow.yaml/out" in told.err
        assert couler("plan", flow, "-o", "no/such/folder").code == 3


class TestOrigins:
    def test_unsupported_step_of_a_pass_names_the_users(self, couler: Callable, flow: str) -> None:
        compiled = couler("compile", flow, "-e", "airflow", "--pass", "make-a-daemon")
        assert compiled.code == 5
        assert 'step "made"' in compiled.err
        assert 'The step comes from "tell".' in compiled.err
        checked = couler("validate", flow, "-e", "airflow", "--pass", "make-a-daemon")
        assert checked.code == 1
        assert 'The step comes from "tell".' in checked.out
        assert couler("validate", flow, "-e", "airflow").code == 0

    def test_broken_pass_is_named_by_validate(self, couler: Callable, flow: str) -> None:
        told = couler("validate", flow, "-e", "argo", "--pass", "lose-a-step")
        assert told.code == 1
        assert (
            'CLR160 error  the pass "lose-a-step" made a workflow that is not valid: ' in told.out
        )
        anywhere = couler("validate", flow, "--pass", "lose-a-step")
        assert (anywhere.code, anywhere.out) == (1, told.out)
        assert couler("validate", flow, "--pass", "tag-steps").code == 0

    def test_pipeline_of_the_settings_is_that_of_validate(
        self, couler: Callable, flow: str, folder: Path
    ) -> None:
        (folder / "pyproject.toml").write_text(
            '[tool.couler]\npipeline = "p"\npipelines.p = ["make-a-daemon"]\n'
        )
        assert couler("validate", flow, "-e", "airflow").code == 1
        assert couler("validate", flow, "-e", "airflow", "--pipeline", "none").code == 0


CROSSED = """
ir_version: "1"
name: crossed
steps:
- name: a
  action: {kind: container, image: busybox, command: ["true"]}
  profile: {seconds: 2}
- name: b
  action: {kind: container, image: busybox, command: ["true"]}
  depends_on: [a]
  profile: {seconds: 30}
- name: c
  action: {kind: container, image: busybox, command: ["true"]}
  depends_on: [a]
  profile: {seconds: 20}
- name: d
  action: {kind: container, image: busybox, command: ["true"]}
  depends_on: [c]
  profile: {seconds: 7}
"""
SPLIT = ("--pass", "split{group_steps=2, method=levels}")


@pytest.mark.parametrize(
    ("flags", "after"),
    [
        # The groups are a and b, c and d: on Argo c starts when b has ended as well, at 32 s.
        (("-e", "argo"), 59.0),
        (("-e", "argo", "--profile", "argo-minimal-crd"), 59.0),
        (("-e", "airflow"), 32.0),
        (("-e", "local"), 32.0),
        ((), 32.0),
    ],
)
def test_estimates_follow_parts_where_the_engine_starts_them_as_a_whole(
    couler: Callable,
    write: Callable[[str, str], str],
    flags: tuple[str, ...],
    after: float,
) -> None:
    asked = ("plan", write("crossed.yaml", CROSSED), *flags, *SPLIT)
    document = json.loads(couler(*asked, "--format", "json").out)
    assert document["parts_are_barriers"] is ("argo" in flags if flags else None)
    assert document["before"]["critical_path_s"]["value"] == 32.0
    assert document["after"]["critical_path_s"]["value"] == after
    text = couler(*asked).out
    assert ("32.0 s -> 59.0 s" in text) == (after == 59.0)
    assert ("32.0 s \N{RIGHTWARDS ARROW} 59.0 s" in couler(*asked, "--as", "html").out) == (
        after == 59.0
    )


WIDE = "\n".join(
    [
        "import couler",
        'with couler.Workflow("wide"):',
        "    for n in range(250):",
        '        couler.run_container("busybox", ["no-such-program"], [n], step_name=f"s-{n}")',
    ]
)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("-e", "argo", "--no-pass", "split"), "CLR511"), (("-e", "local"), "CLR363")],
)
def test_what_an_engine_refuses_comes_below_the_plan(
    couler: Callable, write: Callable[[str, str], str], arguments: tuple[str, ...], code: str
) -> None:
    flow = write("wide.py", WIDE)
    told = couler("plan", flow, *arguments)
    assert told.code == 1
    assert told.out.startswith('plan of "wide" for')
    assert "all passes" in told.out
    assert code not in told.out
    assert code in told.err

    as_json = couler("plan", flow, *arguments, "--format", "json")
    assert as_json.code == 1
    tree = json.loads(as_json.out)
    assert tree["after"]["steps"] == 250
    assert {(one["code"], one["severity"]) for one in tree["diagnostics"]} == {(code, "error")}

    page = couler("plan", flow, *arguments, "--as", "html", "-o", "page.html")
    assert (page.code, page.out) == (1, "")
    assert f"Refused by {arguments[1]}" in Path("page.html").read_text(encoding="utf-8")
    picture = couler("plan", flow, *arguments, "--as", "mermaid")
    assert picture.code == 1
    assert "flowchart TD" in picture.out


def test_a_plan_that_is_refused_is_looked_at_but_not_compiled() -> None:
    action = Container(image="busybox", command=("true",))
    steps = tuple(Step(name=f"s{n}", action=action) for n in range(250))
    workflow = Workflow(name="wide", steps=steps)
    plan = stages.plan(workflow, engine="argo", passes=(), keep_refusal=True)
    assert plan.refusal is not None
    assert plan.workflow == workflow
    with pytest.raises(InvalidWorkflowError, match="CLR511"):
        stages.compile(plan, "argo")
    with pytest.raises(InvalidWorkflowError, match="CLR511"):
        stages.plan(workflow, engine="argo", passes=())


def test_memoize_asks_earlier_runs(couler: Callable, write: Callable, folder: Path) -> None:
    flow = write(
        "timed.yaml",
        """
        ir_version: "1"
        name: timed
        steps:
        - name: make
          action: {kind: container, image: busybox, command: [sh, -c, 'echo 12345']}
        - name: show
          action: {kind: container, image: busybox, command: [sh, -c, 'echo "$COULER_INPUT_a"']}
          inputs: [{name: a, value: {kind: step, step: make}}]
        """,
    )
    plan = ("plan", flow, "-e", "argo", "--pass", "memoize{least_saved_s=0,hit_s=0}")

    def reasons(*flags: str) -> dict[str, str]:
        report = couler(*plan, "--format", "json", *flags).json
        [found] = [one for one in report["passes"] if one["pass"] == "memoize"]
        return found["step_reasons"]

    assert "neither its profile nor an earlier run" in reasons()["make"]
    assert not list(folder.rglob("couler.db"))
    assert couler("run", flow).code == 0
    assert reasons()["make"].endswith("for 30 days (by earlier runs).")
    assert "neither its profile" in reasons("--home", str(folder / "other"))["make"]
    assert not (folder / "other").exists()
