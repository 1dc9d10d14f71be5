"""The benchmark of the local engine's decisions measures all policies on a full cache."""

from __future__ import annotations

import json
import types
from pathlib import Path

import pytest

from couler.caching.registry import policy_names

pytestmark = pytest.mark.checkout

FILE = Path(__file__).resolve().parents[2] / "benchmarks" / "cache_settling.py"


def test_all_policies_decide_on_a_full_cache(
    benchmark: types.ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(benchmark, "QUICK", (10, 20))
    monkeypatch.setattr(benchmark, "OFFERS", 5)
    benchmark.main(["--quick", "--json", str(tmp_path / "rows.json")])
    rows = json.loads((tmp_path / "rows.json").read_text())["rows"]
    names = [benchmark.ROWS, *policy_names(), benchmark.EVERYTHING]
    assert [(row["entries"], row["policy"]) for row in rows] == [
        (entries, name) for entries in (10, 20) for name in names
    ]
    evicted = {row["policy"]: row["evicted"] for row in rows}
    assert evicted["lru"] > 0
    assert evicted["none"] == evicted["all"] == evicted[benchmark.EVERYTHING] == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + len(rows)
