"""A workflow whose files and folders are lost if a store keeps contents only."""

from __future__ import annotations

import typing as t

import couler
from couler import Directory, File
from couler.ir.workflow import Workflow

WANTED = {
    "folders": "[0, 1, 0]",
    "tree": "inner,up",
    "tool": "built",
    "absent": "nothing",
    "box": "7",
    "names": "model.json out t.csv",
}
"""Outputs of a run."""


@couler.step
def tree() -> Directory:
    import os

    os.makedirs("out/inner/deep")
    os.symlink("..", "out/inner/up")
    return Directory("out")


@couler.step
def listed(folder: Directory) -> str:
    import os

    assert os.path.isdir(f"{folder}/inner/deep")
    return ",".join(["inner", *(name for name in os.listdir(f"{folder}/inner") if name == "up")])


@couler.step
def filled(count: int) -> Directory:
    import os

    os.mkdir("out")
    for number in range(count):
        open(f"out/{number}", "w").close()
    return Directory("out")


@couler.step
def sizes(folders: list[Directory]) -> str:
    import os

    return str([len(os.listdir(one)) for one in folders])


@couler.step
def tool() -> File:
    import os

    with open("tool", "w") as file:
        file.write("#!/bin/sh\necho built\n")
    os.chmod("tool", 0o755)
    return File("tool")


@couler.step
def used(tool: File) -> str:
    import subprocess

    return subprocess.run([tool], capture_output=True, text=True, check=True).stdout.strip()


@couler.step
def maybe(file: File | None) -> str:
    return "nothing" if file is None else "something"


class Fitted(t.NamedTuple):
    """A model, and what it was fitted to."""

    model: File
    table: File


@couler.step
def fit() -> Fitted:
    import pathlib

    path = "model.json"
    pathlib.Path(path).touch()
    table = pathlib.Path("deep", "t.csv")
    table.parent.mkdir()
    table.touch()
    return Fitted(File(path), table=table)


@couler.step
def names(model: File, folder: Directory, table: File) -> str:
    import os

    return " ".join(os.path.basename(one) for one in (model, folder, table))


def file_travel() -> Workflow:
    """Return the workflow."""
    with couler.Workflow("file-travel", wanted=False) as wf:
        wf.output("folders", sizes(filled.map(count=[0, 1, 0])))
        wf.output("tree", listed(tree()))
        wf.output("tool", used(tool()))
        fitted = fit()
        wf.output("names", names(fitted.model, tree(), fitted.table))
        with couler.when(wf.params.wanted == True):  # noqa: E712
            made = tool()
        wf.output("absent", maybe(made.or_else(None)))
        box = couler.run_container(
            "busybox",
            ["sh", "-c", "echo 7 > 2024.csv"],
            output={"data": File("2024.csv")},
            working_dir=".",
            step_name="box",
        )
        read = couler.run_container(
            "busybox",
            ["cat", "2025.csv"],
            input={"2025.csv": box.data},
            working_dir=".",
            step_name="read",
        )
        wf.output("box", read)
    return wf.to_ir()
