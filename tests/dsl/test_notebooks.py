"""Steps that are defined in cells of a notebook, in a real kernel."""

from __future__ import annotations

import os
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest

manager = pytest.importorskip("jupyter_client.manager")


@pytest.fixture
def cell(tmp_path: Path) -> Iterator[t.Callable[[str], str]]:
    """What runs a cell and returns what it prints, or its error."""
    environment = {**os.environ, "COULER_HOME": str(tmp_path / "home"), "IPYTHONDIR": str(tmp_path)}
    kernel, client = manager.start_new_kernel(cwd=str(tmp_path), env=environment)

    def run(text: str) -> str:
        printed: list[str] = []

        def hear(message: dict[str, t.Any]) -> None:
            content = message["content"]
            printed.append(content.get("text") or content.get("evalue") or "")

        client.execute_interactive(text, output_hook=hear, timeout=60)
        return "".join(printed)

    yield run
    client.stop_channels()
    kernel.shutdown_kernel(now=True)


CELLS = (
    "import math\nimport couler\nRATE = 2\n",
    "%matplotlib_is_no_magic\n",
    "class Row:\n    size = RATE\n\ndef scale(x):\n    return math.floor(x) * Row.size\n",
    "def broken(:\n",
    "@couler.step\ndef work(x: float) -> int:\n    return scale(x)\n",
)
RUN = """
with couler.Workflow("w") as wf:
    wf.output("r", work(3.5))
print("result", wf.run().outputs["r"])
"""


@pytest.mark.slow
def test_what_other_cells_define_travels(cell: t.Callable[[str], str]) -> None:
    for text in CELLS:
        cell(text)
    assert "result 6" in cell(RUN)
    cell("def scale(x):\n    return -1\n")
    assert "result -1" in cell(RUN)
    cell("RATE = open('x', 'w')\ndef scale(x):\n    return RATE.fileno() * 0\n")
    assert "result 0" in cell(RUN)
