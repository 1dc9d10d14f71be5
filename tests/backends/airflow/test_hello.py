"""The smallest programs give files that fit on a screen."""

from __future__ import annotations

import re

import pytest

import couler
from couler import stages
from couler.backends.base import Target
from tests.backends.airflow.ruff import formatted

pytestmark = pytest.mark.checkout  # which has ruff

HELLO_LINES = 35
TYPED_LINES = 30
"""Lines of the DAG of one typed step, without what it carries."""


def lines(workflow: couler.Workflow) -> list[str]:
    source = stages.compile(workflow, "airflow", format="python").to_text()
    assert formatted(source) == source
    return source.splitlines()


def test_hello() -> None:
    with couler.Workflow("hello") as workflow:
        couler.run_container("busybox:1.37", ["echo"], ["hello world"], step_name="hello")
    written = lines(workflow)
    assert len(written) < HELLO_LINES, "\n".join(written)
    assert not [line for line in written if line.startswith("def ")], "it needs no functions"


@couler.step
def greet(name: str) -> str:
    return f"hello {name}"


@couler.step
def shout(text: str) -> str:
    return text.upper()


def test_typed_steps() -> None:
    with couler.Workflow("greeting", who="world") as workflow:
        shout(greet(workflow.params.who))
    written = lines(workflow)
    dag = written[written.index("with DAG(") :]
    assert len(dag) <= 2 * TYPED_LINES, "\n".join(dag)
    assert len([line for line in written if line.startswith("def ") and "ti:" in line]) <= 1
    source = "\n".join(written)
    assert source.count("def run(") == 1, "what runs both functions is there once"


def test_packages_are_installed_by_the_shell_of_the_image() -> None:
    """The pod of a function has no other."""

    @couler.step(packages=["numpy>=2"])
    def one() -> int:
        return 1

    with couler.Workflow("installs") as workflow:
        one()
    source = "\n".join(lines(workflow))
    assert "busybox" not in source
    assert re.search(r'cmds=\[\s+"sh",\s+"-c",\s+.python -m pip install .*numpy>=2', source)


@couler.step
def length(word: str) -> int:
    return len(word)


@pytest.mark.parametrize("count", [30, None])
def test_lists_of_a_map_are_cut_to_the_rows_only_of_a_task_that_makes_rows(
    count: int | None,
) -> None:
    with couler.Workflow("lengths", words=["a"]) as workflow:
        words = workflow.params.words if count is None else [f"w{one}" for one in range(count)]
        workflow.output("lengths", length.map(words))
    dag = workflow.compile("airflow").to_text()
    rows = "" if count else ', "length-items"'
    assert f'listed(ti, "length", "result"{rows})' in dag
    assert "length-lists" not in dag


@couler.step
def price(i: int) -> dict[str, str]:
    return {"note": f"costs $${i}, see $(HOME)"}


@couler.step
def total_of(prices: list[dict[str, str]]) -> str:
    return str(prices)


def test_dollars_in_lists_of_a_map_are_doubled() -> None:
    with couler.Workflow("prices") as workflow:
        total_of(price.map(i=[1, 2]))
    dag = workflow.compile("airflow").to_text()
    assert """'{{ listed(ti, "price", "result") | replace("$", "$$") }}'""" in dag


@couler.step
def written() -> couler.File:
    return couler.File("it")


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("a/b", '"a/b/{{ ti.dag_id }}/{{ ti.run_id }}/{{ ti.task_id }}/result"'),
        ("{{a}}", """'{{ place(ti, "result", "{{a}}") }}'"""),
    ],
    ids=["plain", "braces"],
)
def test_a_path_of_files_is_a_template_unless_it_has_braces(path: str, location: str) -> None:
    with couler.Workflow("w") as workflow:
        written()
    target = Target(options={"files_claim": "files", "files_path": path})
    dag = stages.compile(workflow, "airflow", target=target).to_text()
    assert f'"COULER_OUTPUT_result": {location}' in dag
