"""What compiling loads: nothing of Airflow, and templates only for Airflow."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PROBE = """
import json, sys
from couler import stages
from couler.ir.workflow import Container, Step, Workflow
step = Step(name="a", action=Container(image="busybox", command=("true",)))
text = stages.compile(Workflow(name="w", steps=(step,)), sys.argv[1]).to_text()
print(json.dumps([text, sorted({name.partition(".")[0] for name in sys.modules})]))
"""


def compiled_in_a_process(engine: str) -> tuple[str, set[str]]:
    """Compile a workflow; return the text and the packages that were loaded for it."""
    command = [sys.executable, "-c", PROBE, engine]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    text, loaded = json.loads(done.stdout)
    return text, set(loaded)


def test_compiling_needs_no_airflow() -> None:
    text, loaded = compiled_in_a_process("airflow")
    assert "import DAG" in text
    assert not {"airflow", "kubernetes", "pendulum"} & loaded


@pytest.mark.parametrize("engine", ["argo", "local"])
def test_other_engines_load_no_templates(engine: str) -> None:
    _, loaded = compiled_in_a_process(engine)
    assert "couler" in loaded
    assert "jinja2" not in loaded
