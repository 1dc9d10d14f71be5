"""What the tests make is kept, and judged as they say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from couler import stages
from couler.ir.base import FrozenDict
from couler.ir.workflow import Workflow
from tests.oracle import judge
from tests.support import argo_api, argo_oracle
from tests.support.argo_record import Record, Recorder, records
from tests.support.sample_flows import echo, flow


@pytest.fixture
def recorder(request: pytest.FixtureRequest, tmp_path: Path) -> Recorder:
    recorder = Recorder(tmp_path / "made", process="1")
    recorder.item = request.node
    return recorder


def test_each_manifest_is_kept_once_with_its_test(recorder: Recorder, tmp_path: Path) -> None:
    with recorder.installed():
        text = stages.compile(flow(echo("a")), "argo").to_text()
        stages.compile(flow(echo("a")), "argo")
        stages.compile(flow(echo("b")), "argo", format="json")
    stages.compile(flow(echo("c")), "argo")
    first, second = records([tmp_path / "made"])
    assert first.file.read_text() == text
    assert first.test.endswith("test_each_manifest_is_kept_once_with_its_test")
    assert [first.refused, second.refused, second.file.suffix] == [None, None, ".json"]


@pytest.mark.argo_refuses(reason="it has no entrypoint of that name")
def test_a_test_says_what_must_be_refused(recorder: Recorder, tmp_path: Path) -> None:
    with recorder.installed():
        stages.compile(_refused(), "argo")
    [record] = records([tmp_path / "made"])
    assert record.refused == "it has no entrypoint of that name"


def test_two_processes_write_into_one_folder(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    for process in ("1", "2"):
        recorder = Recorder(tmp_path, process=process)
        recorder.item = request.node
        with recorder.installed():
            stages.compile(flow(echo(f"a{process}")), "argo")
            stages.compile(flow(echo("b")), "argo")
    assert len(list(records([tmp_path]))) == 3


def _refused() -> Workflow:
    override = FrozenDict(argo=FrozenDict(spec=FrozenDict(entrypoint="nowhere")))
    return flow(echo("a"), engine=override)


def _records(folder: Path) -> dict[str, Record]:
    good = stages.compile(flow(echo("a")), "argo").to_text()
    bad = good.replace("entrypoint: main", "entrypoint: nowhere")
    found = {}
    for name, text, refused in (
        ("good", good, None),
        ("bad", bad, None),
        ("must-be-refused", bad, "so it is"),
        ("is-taken", good, "so it should be"),
    ):
        (folder / f"{name}.yaml").write_text(text)
        found[name] = Record(folder / f"{name}.yaml", name, refused)
    return found


@pytest.mark.slow
@pytest.mark.timeout(1800)  # the first use builds Argo's linter
@pytest.mark.skipif(
    argo_oracle.lint_available() is not None, reason=str(argo_oracle.lint_available())
)
def test_verdicts_are_compared_with_what_the_tests_say(tmp_path: Path) -> None:
    found = _records(tmp_path)
    mistakes = judge.judge(list(found.values()), tmp_path)
    assert [mistake.record.test for mistake in mistakes] == ["bad", "is-taken"]
    assert "template name 'nowhere' undefined" in str(mistakes[0])
    assert "must be refused: so it should be" in str(mistakes[1])


def test_what_only_the_newer_argo_reads_is_taken_out() -> None:
    manifest = {
        "kind": "Workflow",
        "spec": {
            "podResources": {},
            "executorPlugins": [{"spec": {}}],
            "arguments": {"parameters": [{"name": "p", "value": "podResources"}]},
            "templates": [
                {
                    "name": "main",
                    "pendingTimeout": "1m",
                    "script": {"image": "a", "source": "", "restartPolicyRules": []},
                    "outputs": {
                        "artifacts": [{"name": "a", "s3": {"key": "k", "addressingStyle": "path"}}]
                    },
                },
                {
                    "name": "graph",
                    "dag": {
                        "tasks": [
                            {
                                "name": "a",
                                "inline": {"pendingTimeout": "1m"},
                                "hooks": {
                                    "exit": {"template": "main"},
                                    "pendingTimeout": {"template": "main"},
                                },
                                "withItems": [{"podResources": 1}],
                            }
                        ]
                    },
                },
            ],
        },
    }
    assert argo_api.without_later(manifest)["spec"] == {
        "arguments": {"parameters": [{"name": "p", "value": "podResources"}]},
        "templates": [
            {
                "name": "main",
                "script": {"image": "a", "source": ""},
                "outputs": {"artifacts": [{"name": "a", "s3": {"key": "k"}}]},
            },
            {
                "name": "graph",
                "dag": {
                    "tasks": [
                        {
                            "name": "a",
                            "inline": {},
                            "hooks": {
                                "exit": {"template": "main"},
                                "pendingTimeout": {"template": "main"},
                            },
                            "withItems": [{"podResources": 1}],
                        }
                    ]
                },
            },
        ],
    }
    assert json.dumps(manifest).count("pendingTimeout") == 3


@pytest.mark.checkout
def test_blocks_of_the_pages_are_judged_where_nothing_is_left_out(tmp_path: Path) -> None:
    found = list(judge.committed(tmp_path))
    assert {record.file.suffix for record in found} == {".yaml"}
    assert all("\n..." not in record.file.read_text() for record in found)
