"""Errors of import, told with the step that they are about."""

from __future__ import annotations

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.airflow.parsing import DagFile, import_error, step_at
from couler.backends.base import Target
from couler.ir.defaults import resolve_defaults
from couler.ir.policies import SourceRef
from tests.corpus.build import flow, given, group, item, out, ref, sh

INNER = sh("fit", "true").model_copy(update={"source": SourceRef(file="flow.py", line=14)})
WORKFLOW = resolve_defaults(
    flow(
        "f",
        sh("a", "true"),
        group(
            "g",
            INNER,
            foreach=[1, 2],
            inputs=[given("n", item())],
            outputs=[out("o", source=ref("fit"))],
        ),
    )
)
TEXT = AirflowBackend().compile(WORKFLOW, Target()).to_text()
FILE = DagFile(WORKFLOW, "f.py", TEXT)


def line_of(words: str) -> int:
    return next(number for number, line in enumerate(TEXT.splitlines(), 1) if words in line)


@pytest.mark.parametrize(
    ("words", "name"),
    [('task_id="a"', "a"), ('task_id="fit"', "fit"), ('TaskGroup("g")', "g"), ("import", None)],
)
def test_a_line_is_of_a_step(words: str, name: str | None) -> None:
    step = step_at(FILE, line_of(words))
    assert (step and step.name) == name


def test_a_file_that_is_no_python_has_no_steps() -> None:
    assert step_at(FILE._replace(text="with ("), 1) is None


LINE = line_of('task_id="fit"')
IN_THE_FILE = f"""Traceback (most recent call last):
  File "/dags/f.py", line {LINE}, in g_item
    fit = KubernetesPodOperator(
  File "/lib/base.py", line 9, in apply
    raise AirflowException(
airflow.exceptions.AirflowException: no
such field"""
BELOW_IT = """Traceback (most recent call last):
  File "/lib/base.py", line 9, in __init__
    raise TypeError(
TypeError: Invalid arguments were passed to PythonOperator (task_id: g.item.fit). They were:
**kwargs: {'x': 1}"""


def test_an_error_of_import_is_told_with_its_line() -> None:
    assert import_error(FILE, IN_THE_FILE) == (
        f'airflow cannot import f.py, line {LINE}, which is of the step "fit" (flow.py:14): '
        "airflow.exceptions.AirflowException: no such field"
    )


def test_an_error_that_names_a_task_is_told_with_its_step() -> None:
    assert import_error(FILE, BELOW_IT) == (
        'airflow cannot import f.py: the step "fit" (flow.py:14): TypeError: Invalid arguments '
        "were passed to PythonOperator (task_id: g.item.fit). They were: **kwargs: {'x': 1}"
    )
