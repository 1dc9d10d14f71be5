"""The table of what sharing templates saves is the one that the docs show."""

from __future__ import annotations

import re
import types
from collections.abc import Callable
from pathlib import Path

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.base import Target
from couler.errors import EngineOptionError
from couler.stages import compile as compile_workflow
from tests.corpus.build import flow, sh

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "benchmarks" / "template_sharing.py"
PAGE = ROOT / "docs" / "argo.md"
_TABLE = re.compile(r"(?<=`python benchmarks/template_sharing.py` prints the table.\n\n)(\|.*\n)*")


@pytest.mark.checkout
@pytest.mark.golden
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the libraries of the examples
def test_the_docs_show_the_table(
    benchmark: types.ModuleType, golden: Callable[[Path, str], None]
) -> None:
    for library in ("numpy", "joblib", "sklearn", "matplotlib"):
        pytest.importorskip(library)
    rows = [benchmark.measure(workflow) for workflow in benchmark.workflows()]
    page = PAGE.read_text(encoding="utf-8")
    assert _TABLE.search(page)
    golden(PAGE, _TABLE.sub(benchmark.table(rows), page, count=1))


@pytest.mark.checkout
def test_figures(benchmark: types.ModuleType) -> None:
    row = benchmark.measure(benchmark.fan_out())
    assert (row.workflow, row.steps, row.templates) == ("fan-out", 151, (152, 3))
    assert row.bytes[0] > row.bytes[1] > 0


@pytest.mark.parametrize("shares", [True, "true", False, "False"])
def test_option(shares: object) -> None:
    workflow = flow("w", sh("a", "true"), sh("b", "true"))
    target = Target(options={"share_templates": shares})
    text = compile_workflow(workflow, "argo", target=target).to_text()
    assert ("template: b" in text) is (str(shares).lower() == "false")


def test_option_is_true_or_false() -> None:
    with pytest.raises(EngineOptionError, match="share_templates is true or false, not 'maybe'"):
        ArgoBackend().compile(
            flow("w", sh("a", "true")), Target(options={"share_templates": "maybe"})
        )
