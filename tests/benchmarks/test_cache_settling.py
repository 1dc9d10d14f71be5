"""The benchmark of the local engine's decisions measures all policies on a full cache."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from couler.caching.registry import policy_names

pytestmark = pytest.mark.checkout

FILE = Path(__file__).resolve().parents[2] / "benchmarks" / "cache_settling.py"


def test_all_policies_decide_on_a_full_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = importlib.util.spec_from_file_location("cache_settling", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "cache_settling", module)  # where typing looks for names
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "QUICK", (10, 20))
    monkeypatch.setattr(module, "OFFERS", 5)
    module.main(["--quick", "--json", str(tmp_path / "rows.json")])
    rows = json.loads((tmp_path / "rows.json").read_text())["rows"]
    names = [module.ROWS, *policy_names(), module.EVERYTHING]
    assert [(row["entries"], row["policy"]) for row in rows] == [
        (entries, name) for entries in (10, 20) for name in names
    ]
    evicted = {row["policy"]: row["evicted"] for row in rows}
    assert evicted["lru"] > 0
    assert evicted["none"] == evicted["all"] == evicted[module.EVERYTHING] == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + len(rows)
