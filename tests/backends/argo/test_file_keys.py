"""Where a foreach over known lists makes files, one over these files has their keys as items."""

from __future__ import annotations

import json
import typing as t

import couler
from couler import File, stages


@couler.step
def written(word: str) -> File:
    with open("it", "w") as file:
        file.write(word)
    return File("it")


@couler.step
def read(word: str, file: File) -> str:
    with open(file) as there:
        return word + there.read()


@couler.step
def joined(words: list[str]) -> str:
    return " ".join(words)


def read_in_turn(**options: t.Any) -> couler.Workflow:
    """Return a workflow that writes a file for each word, and reads each beside another word."""
    with couler.Workflow("files") as workflow:
        files = written.with_options(**options).map(word=["a", "b", "c"])
        said = read.map(word=["x", "y", "z"], file=files)
        workflow.output("said", joined(said))
    return workflow


def items(workflow: couler.Workflow) -> object:
    text = stages.compile(workflow, "argo", format="json").to_text()
    [main] = (one for one in json.loads(text)["spec"]["templates"] if one["name"] == "main")
    [task] = (one for one in main["dag"]["tasks"] if one["name"] == "read")
    return task.get("withItems")


def test_keys_are_known_by_index() -> None:
    place = "{{workflow.name}}/written/result"
    assert items(read_in_turn()) == [
        {"word": word, "file": f"{place}/{index}"} for index, word in enumerate("xyz")
    ]


def test_files_that_may_be_those_of_an_earlier_run_are_read_where_they_are() -> None:
    assert items(read_in_turn(cache=True)) is None
