"""Files of an engine that a team keeps: what they were made from, and whether they still are."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from couler import __version__

FLOW = """
import couler

with couler.Workflow("greet"):
    couler.run_container("busybox:1", ["echo", "{}"], step_name="greet")
"""


@pytest.mark.parametrize("engine", ["argo", "airflow"])
def test_a_kept_file_is_compared_but_for_its_first_line(
    couler: Callable, folder: Path, engine: str
) -> None:
    flow, out = folder / "flow.py", folder / "out"
    flow.write_text(FLOW.format("hello"))
    words = ("compile", str(flow), "-e", engine, "-o", str(out))
    assert couler(*words).code == 0
    digest = hashlib.sha256(flow.read_bytes()).hexdigest()[:12]
    first, _, rest = out.read_text().partition("\n")
    made_by = f"couler {__version__} for {engine}"
    assert first == f"# Workflow greet, compiled from flow.py (SHA-256 {digest}) by {made_by}."
    out.write_text(first.replace(__version__, "0.0.1") + "\n" + rest)
    done = couler(*words, "--check")
    assert (done.code, done.out) == (0, "")
    flow.write_text(FLOW.format("bye"))
    done = couler(*words, "--check")
    assert done.code == 1
    changed = [line for line in done.out.splitlines() if line[0] in "+-"][2:]
    assert [line[0] for line in changed] == ["-", "+"]
    assert ("hello" in changed[0], "bye" in changed[1]) == (True, True)
    assert "hello" in out.read_text()


def test_what_is_compared_is_a_file(couler: Callable, folder: Path) -> None:
    (folder / "flow.py").write_text(FLOW.format("hello"))
    words = ("compile", str(folder / "flow.py"), "-e", "argo", "--check")
    assert couler(*words).code == 2
    done = couler(*words, "-o", str(folder / "none.yaml"))
    assert done.code == 1
    assert "+kind: Workflow" in done.out
