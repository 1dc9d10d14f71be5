"""The benchmark of sizes for Argo prints its table, and fails where a limit is not kept."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = Path(__file__).with_name("workflows")

pytestmark = pytest.mark.checkout


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> t.Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    module = importlib.import_module("argo_sizes")
    monkeypatch.setattr(module, "QUICK", (201,))
    return module


def test_the_quick_table(tmp_path: Path) -> None:
    out = tmp_path / "rows.json"
    script = ROOT / "benchmarks" / "argo_sizes.py"
    done = subprocess.run(
        [
            *(sys.executable, str(script), "--quick", "--json", str(out), "--seed", "3"),
            *("--data", str(WORKFLOWS)),
        ],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert "OVER" not in done.stdout
    document = json.loads(out.read_text())
    assert document["seed"] == 3
    rows = document["rows"]
    assert [(row["kind"], row["steps"], row["objects"]) for row in rows] == [
        ("order", 201, 1),
        ("order", 1000, 1),
        ("data", 201, 1),
        ("data", 1000, 1),
        ("random", 201, 1),
        ("real", 14, 1),
    ]
    assert all(row["groups"] >= 2 and row["tasks"] <= 200 for row in rows[:-1])
    assert (rows[-1]["name"], rows[-1]["groups"], rows[-1]["path"]) == ("counts", 0, 1.0)
    assert all(1.0 <= row["path"] < 1.2 for row in rows)


def test_a_limit_that_is_not_kept_fails(
    sizes: t.Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sizes, "MAX_TASKS", 20)
    with pytest.raises(SystemExit) as ended:
        sizes.main(["--quick", "--data", str(WORKFLOWS)])
    assert ended.value.code == "3 of 4 workflows are over a limit"
    assert capsys.readouterr().out.count("  OVER\n") == 3


def test_a_workflow_that_is_refused_is_told_and_fails(
    sizes: t.Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = sizes.stages.plan

    def unsplit(workflow: t.Any, *, passes: t.Any, **options: t.Any) -> t.Any:
        return plan(workflow, passes=(), **options)

    monkeypatch.setattr(sizes.stages, "plan", unsplit)
    with pytest.raises(SystemExit):
        sizes.main(["--quick", "--data", str(WORKFLOWS)])
    told = capsys.readouterr().out
    assert told.count("OVER: ") == 3
    assert "CLR511" in told


def test_wrong_options_are_refused_before_anything_is_compiled(
    sizes: t.Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for wrong in (["--data", str(tmp_path / "typo")], ["--json", str(tmp_path / "no" / "x.json")]):
        with pytest.raises(SystemExit) as ended:
            sizes.main(["--quick", *wrong])
        assert ended.value.code == 2
        told = capsys.readouterr()
        assert f"{wrong[0]}: there is no folder" in told.err
        assert told.out == ""
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(SystemExit, match="no workflow in WfFormat"):
        sizes.main(["--quick", "--data", str(tmp_path)])


def test_help_tells_of_columns_options_and_limits(
    sizes: t.Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        sizes.main(["--help"])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    for word in ("--data DIR", "--json OUT", "--seed", "--quick", "The columns:", "Exit code 1"):
        assert word in told
