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


@couler.step
def sizes(files: list[File]) -> int:
    return len(files)


@couler.step
def reread(file: File) -> str:
    with open(file) as there:
        return there.read()


def read_in_groups() -> couler.Workflow:
    """Return a workflow that maps over files in a group, and in one of a group that reads them."""
    with couler.Workflow("grouped") as workflow:
        files = written.map(word=["a", "b"])
        with couler.group("outer"):
            one = reread.map(file=files)
            count = sizes(files)
            with couler.group("inner"):
                two = reread.map(file=files)
        workflow.output("said", joined(one))
        workflow.output("again", joined(two))
        workflow.output("count", count)
    return workflow


def test_groups_take_lists_of_files_for_a_foreach() -> None:
    text = stages.compile(read_in_groups(), "argo", format="json").to_text()
    templates = {one["name"]: one for one in json.loads(text)["spec"]["templates"]}
    names = {
        name: [one["name"] for one in templates[name]["inputs"]["parameters"]]
        for name in ("outer", "inner")
    }
    assert names == {"outer": ["written_list"], "inner": ["written_list"]}
    [folder] = templates["sizes"]["inputs"]["artifacts"]  # the same for all that call it
    assert folder["s3"]["key"] == "{{workflow.name}}/written/result"
