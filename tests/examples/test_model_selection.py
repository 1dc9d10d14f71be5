"""The example of model selection: its steps one by one, and the whole of it on this machine."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import pytest

from couler import stages
from couler.stages.programs import load_program
from couler.state.results import RunResult
from tests.support import argo_oracle

numpy = pytest.importorskip("numpy")
joblib = pytest.importorskip("joblib")
pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")

pytestmark = [
    pytest.mark.checkout,
    # The libraries' own business: matplotlib 3.9 calls what pyparsing 3.3 has deprecated.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

FOLDER = Path(__file__).parents[2] / "examples" / "model_selection"
PROGRAM = FOLDER / "model_selection.py"
DATA = {"images": 1797, "features": 64, "classes": 10, "smallest class": 174, "largest class": 183}
PARTS = {"train": 1077, "validation": 360, "test": 360}


@pytest.fixture(scope="module")
def example() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        yield importlib.import_module("model_selection")
        for name in ("model_selection", "report"):
            del sys.modules[name]


@pytest.fixture
def table(example: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return str(example.load())


def test_the_bundled_data_is_valid(example: ModuleType, table: str) -> None:
    assert example.validate(table, min_rows=1000, max_imbalance=1.5) == DATA


def _without_most_of(digit: str, lines: list[str]) -> list[str]:
    rows = [line for line in lines[1:] if line.endswith(f",{digit}")]
    return [line for line in lines if line not in rows[20:]]


DAMAGES: dict[str, tuple[Callable[[list[str]], list[str]], str]] = {
    "a column less": (
        lambda lines: [line.partition(",")[2] for line in lines],
        "columns are 64 pixels and a label",
    ),
    "another name": (
        lambda lines: [lines[0].replace("pixel_0_0", "pixel"), *lines[1:]],
        "columns are 64 pixels and a label",
    ),
    "few rows": (lambda lines: lines[:900], "at least 1000 rows"),
    "an empty field": (
        lambda lines: [lines[0], lines[1].replace("0,", ",", 1), *lines[2:]],
        "no value is missing",
    ),
    "no number": (
        lambda lines: [lines[0], lines[1].replace("0,", "dark,", 1), *lines[2:]],
        "no value is missing",
    ),
    "a bright pixel": (
        lambda lines: [lines[0], lines[1].replace("0,", "17,", 1), *lines[2:]],
        "pixels are between 0 and 16",
    ),
    "an eleventh digit": (
        lambda lines: [*lines, *(re.sub(r"\d+$", "10", line) for line in lines[1:180])],
        "labels are 0 to 9",
    ),
    "a rare digit": (
        lambda lines: _without_most_of("3", lines),
        "no class is 1.5 times another",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_bad_data_ends_the_run_and_is_named(
    example: ModuleType, table: str, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change, check = DAMAGES[damage]
    lines = change(Path(table).read_text().splitlines())
    Path(table).write_text("\n".join(lines) + "\n")
    with pytest.raises(SystemExit, match="not fit for training"):
        example.validate(table, min_rows=1000, max_imbalance=1.5)
    assert f"FAILED {check}" in capsys.readouterr().out.splitlines()


def test_parts_are_the_whole_and_each_digit_in_proportion(example: ModuleType, table: str) -> None:
    rows = numpy.loadtxt(table, delimiter=",", skiprows=1)
    split = example.split(table, seed=7)
    assert split.sizes == PARTS
    loaded = [numpy.load(part) for part in split[:3]]
    parts = [numpy.column_stack([part["x"], part["y"]]) for part in loaded]
    together = numpy.concatenate(parts)
    assert sorted(map(tuple, together)) == sorted(map(tuple, rows))
    whole = numpy.bincount(rows[:, -1].astype(int)) / len(rows)
    for part in parts:
        assert numpy.bincount(part[:, -1].astype(int)) / len(part) == pytest.approx(whole, abs=0.01)


def test_the_seed_decides_the_split(example: ModuleType, table: str) -> None:
    def test_part(seed: int) -> list[list[float]]:
        return list(numpy.load(example.split(table, seed=seed).test)["x"].tolist())

    assert test_part(7) == test_part(7)
    assert test_part(7) != test_part(8)


def test_scaling_is_learned_from_the_given_part_alone(example: ModuleType, table: str) -> None:
    split = example.split(table, seed=7)
    prepared = example.preprocess(split.train)
    raw = numpy.load(split.train)["x"]
    assert joblib.load(prepared.scaler).mean_ == pytest.approx(raw.mean(axis=0))
    assert numpy.load(prepared.train)["x"].mean(axis=0) == pytest.approx(numpy.zeros(64), abs=1e-9)


def test_the_most_accurate_model_is_picked_with_its_files(example: ModuleType) -> None:
    accuracies = {"a": 0.91, "b": 0.97, "c": 0.93}
    scores = [example.Score(name, value, 0, 0, 0) for name, value in accuracies.items()]
    best = example.pick(scores, ["a.m", "b.m", "c.m"], ["a.p", "b.p", "c.p"])
    assert best == ("b", 0.97, "b.m", "b.p")


def test_the_page_of_the_docs_shows_the_program() -> None:
    page = (FOLDER.parents[1] / "docs" / "examples" / "model-selection.md").read_text()
    [block] = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    assert PROGRAM.read_text().endswith(block)


class _Page(HTMLParser):
    """Notes what a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(str(value))
            elif name in ("src", "href", "xlink:href", "data", "srcset", "action"):
                self.links.append(str(value))

    def handle_data(self, data: str) -> None:
        self.text += data


def _check_is_whole(text: str) -> _Page:
    """Check that a page needs nothing else, and that its pictures do not disturb each other."""
    page = _Page(text)
    assert page.tags.count("svg") == 3
    assert not {"script", "link", "iframe", "base"} & set(page.tags)
    assert [link for link in page.links if not link.startswith(("#", "data:image/png;"))] == []
    assert "@import" not in text
    references = re.findall(r"url\((.)", text)
    assert set(references) <= {"#"}
    assert len(page.ids) == len(set(page.ids))
    used = [*page.links, *re.findall(r"url\((#[^)]*)\)", text)]
    assert {link[1:] for link in used if link.startswith("#")} <= set(page.ids)
    return page


def test_the_report_is_one_page_that_needs_nothing_else(example: ModuleType, table: str) -> None:
    split = example.split(table, seed=7)
    prepared = example.preprocess(split.train)
    kinds = ["support vectors", "nearest neighbours"]
    scores, seconds = [], []
    for kind in kinds:
        fitted = example.train(kind, prepared.train, prepared.scaler, seed=7)
        evaluation = example.evaluate(kind, fitted.model, split.test)
        assert evaluation.score.accuracy > 0.95
        scores.append(evaluation.score)
        seconds.append(fitted.seconds)
    report = example.write_report(
        verdict="<Accepted> & tested",
        scores=scores,
        seconds=seconds,
        best="nearest neighbours",
        final=scores[1],
        plots=example.draw(scores, "nearest neighbours", evaluation.predictions),
        data=DATA,
        parts=PARTS,
        seed=7,
        threshold=0.9,
        run="run-1",
    )
    page = _check_is_whole(Path(report).read_text(encoding="utf-8"))
    for text in ("<Accepted> & tested", "run-1", "best: nearest neighbours", "1797"):
        assert text in page.text


@pytest.mark.slow
def test_data_that_is_not_valid_ends_the_run(tmp_path: Path) -> None:
    result = stages.run(load_program(str(PROGRAM)), parameters={"min_rows": "5000"})
    assert result.status == "failed"
    assert result.steps["validate"].status == "failed"
    assert result.steps["split"].status == "omitted"
    assert result.steps["write_report"].status == "omitted"


@pytest.fixture(scope="module")
def accepted() -> RunResult:
    """A run with the threshold that the program has."""
    return stages.run(load_program(str(PROGRAM)))


def _check_verdict(result: RunResult, verdict: str, ran: str, skipped: str) -> None:
    assert result.status == "succeeded"
    assert result.steps[ran].status == "succeeded"
    assert result.steps[skipped].status == "skipped"
    assert result.outputs["verdict"].startswith(verdict)
    page = _check_is_whole(Path(result.outputs["report"]).read_text(encoding="utf-8"))
    assert result.outputs["verdict"] in page.text
    assert result.run_id in page.text
    model = joblib.load(result.outputs["model"])
    assert model.predict(numpy.zeros((1, 64))).shape == (1,)


@pytest.mark.nightly
@pytest.mark.slow
def test_the_best_model_is_rejected_if_it_is_not_good_enough() -> None:
    result = stages.run(load_program(str(PROGRAM)), parameters={"threshold": "1.0"})
    _check_verdict(result, "Rejected", "reject", "final-test")


@pytest.mark.slow
def test_the_best_model_is_tested_if_it_is_good_enough(accepted: RunResult) -> None:
    _check_verdict(accepted, "Accepted", "final-test", "reject")


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_argo_comes_to_the_same_verdict(accepted: RunResult, tmp_path: Path) -> None:
    if reason := argo_oracle.available():
        pytest.skip(reason)
    manifest = stages.compile(load_program(str(PROGRAM)), "argo").to_text()
    (tmp_path / "argo").mkdir()
    there = argo_oracle.run(manifest, work_dir=tmp_path / "argo")
    assert there.phase == "Succeeded"
    assert there.root.outputs["verdict"] == accepted.outputs["verdict"]
    report = there.bucket / there.root.outputs["report"]
    _check_is_whole(report.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("pass_", "together"),
    [
        ("group", "load, validate, split"),
        ("group{per_lost_s=0}", "load, validate, split, preprocess"),
    ],
)
def test_the_steps_that_share_a_pod_are_those_of_the_page(pass_: str, together: str) -> None:
    plan = stages.plan(load_program(str(PROGRAM)), passes=[pass_])
    [group] = [one for one in plan.workflow.steps if one.origin == "group"]
    assert plan.log.records[-1].step_reasons[group.name].startswith(f"{together} run in one pod")
