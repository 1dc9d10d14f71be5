"""The programs of tests/programs/ancestor and what they do: their states, and what steps print.

Every engine that can run here is to give the same. The programs are as users of the earlier SDK
wrote them; how each is built is looked at in tests/dsl/test_ancestor_programs.py.
"""

from __future__ import annotations

import functools
import subprocess
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from couler.stages.programs import Loaded, load_program

FOLDER = Path(__file__).parents[1] / "programs" / "ancestor"


@dataclass(frozen=True)
class Outcome:
    """What a run of a program gives.

    Attributes
    ----------
    prints
        What each step that runs prints, by path, less the final newline; of several attempts a
        tuple.
    wholes
        Paths of maps, loops, groups and handlers that succeed, with blanks between them.
    skipped, failed
        Paths that end so. A failed path that prints is named here too.
    status
        Of the run.
    secrets, config_maps
        What must be there: name, key, value.
    """

    prints: Mapping[str, str | tuple[str, ...]]
    wholes: str = ""
    skipped: str = ""
    failed: str = ""
    status: str = "succeeded"
    secrets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    config_maps: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def states(self) -> dict[str, str]:
        """The state at every path."""
        succeeded = dict.fromkeys([*self.prints, *self.wholes.split()], "succeeded")
        skipped = dict.fromkeys(self.skipped.split(), "skipped")
        return {**succeeded, **skipped, **dict.fromkeys(self.failed.split(), "failed")}


def load(name: str) -> Loaded:
    """Return the workflow of a program."""
    return load_program(str(FOLDER / f"{name}.py"))


def names() -> list[str]:
    """Return the names of the programs that define one workflow."""
    return sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "notebook")


def _each(path: str, *texts: str) -> dict[str, str]:
    return {f"{path}[{index}]": text for index, text in enumerate(texts)}


@functools.cache
def outcomes() -> dict[str, Outcome]:
    """Return what programs do that need no cluster."""
    return {
        "branches_in_maps": Outcome(
            {
                "handle[0]/measure": "5",
                "handle[1]/measure": "50",
                "handle[0]/take": "take 5",
                "handle[1]/split": "split 50",
            },
            wholes="handle handle[0] handle[1]",
            skipped="handle[0]/split handle[1]/take",
        ),
        "callables": Outcome(
            {
                "first": "first",
                "say": "hello red",
                "say-2": "blue called",
                "say-3": "third",
                "say-4": "fourth",
                **_each("item", "1", "2"),
                **_each("say-5", "blue a", "blue b"),
                "say-6": "hello red",
                "say-7@0": "done",
                "x": "x",
                "y": "y",
                "exit:on-success/bye": "bye",
            },
            wholes="item say-5 say-7 exit:on-success",
        ),
        "cluster_settings": Outcome({"train": "training"}),
        "concurrent_in_graph": Outcome({name: name for name in _CONCURRENT}),
        "conditions_in_graph": Outcome(
            {"flip-coin": "heads", "prepare": "ready", "heads": "it was heads", "done": "done"},
            skipped="tails",
        ),
        "counting_loops": Outcome(
            {
                "reset": "",
                "count_in_python@0": "1",
                "count_in_python@1": "2",
                "count_in_python@2": "3",
                "count_in_shell@0": "1",
                "count_in_shell@1": "2",
                "tell": "3",
            },
            wholes="count_in_python count_in_shell",
        ),
        "decided_now": Outcome(
            {"build": "built", "deploy": "deploy", "balance": "balance", "small": "small"}
        ),
        "depends_text": Outcome(
            dict.fromkeys(["A", "B", "C", "should-run-1", "should-run-2"], ""),
            failed="C",
            skipped="should-not-run",
        ),
        "diamond": Outcome({name: f"job {name} is done" for name in "ABCD"}),
        "existing_secrets": Outcome(
            {"login": "2 6", "fetch": "1 1", "track": "3", "note": "1"},
            secrets={
                "registry-login": {"uname": "me", "passwd": "s3cr3t"},
                "bucket": {"access_key": "k", "secret_key": "s"},
                "tracker": {"token": "xyz"},
                "not-made": {"note": "n"},
            },
        ),
        "exit_handlers": Outcome(
            {
                "work": ("working", "working"),
                "exit:on_failure/tell-2": "a step failed",
                "exit:on_error/tell-3": "something broke",
                "exit:at_the_end/tell-4": "it is over",
            },
            wholes="exit:on_failure exit:on_error exit:at_the_end",
            skipped="exit:on_success",
            failed="work",
            status="failed",
        ),
        "explicit_passing": Outcome(
            {
                "produce": "",
                "none": "arguments:",
                "one": "arguments: 42",
                "all": "arguments: and 42 7",
            }
        ),
        "fan_out": Outcome(
            {
                **_each("consume", *map(str, range(1000))),
                **{f"task-{number}": f"task {number}" for number in range(150)},
            },
            wholes="consume",
        ),
        "files_between_steps": Outcome(
            {"train": "trained", "deploy": "0.93: weights", "deploy-2": "0.93: weights"}
        ),
        "fragile": Outcome(
            {"fetch": ("trying", "trying", "trying"), "alert": "alert"}, failed="fetch"
        ),
        "git_source": Outcome({"check": "1.0", "tell": "lines: 3"}),
        "global_outputs": Outcome({"produce": "", "between": "between", "consume": "read run-17"}),
        "grid": Outcome(
            {
                "train-1-3": "13",
                "train-1-4": "14",
                "train-2-3": "23",
                "train-2-4": "24",
                "best": "24",
            }
        ),
        "helpers_without_results": Outcome(
            {
                **_each("notify", "dear ann", "dear bob"),
                "both[0]/write": "write to cy",
                "both[0]/call": "call cy",
                "both[1]/write": "write to di",
                "both[1]/call": "call di",
                "notify-2": "dear ed",
                "write": "write to flo",
                "call": "call flo",
                "flip@0": "tails",
                "notify-3": "dear gus",
            },
            wholes="notify both both[0] both[1] flip",
            skipped="exit:on-failure",
        ),
        "map_in_graph": Outcome(
            {
                "prepare": "prepared",
                **_each("download", *[f"got example.org/{index}.csv" for index in range(3)]),
                "merge": "merged",
            },
            wholes="download",
        ),
        "loops_side_by_side": Outcome(
            {"upload@0": "there", "review@0": "approved", "release": "released"},
            wholes="upload review",
        ),
        "map_of_an_output": Outcome(
            {
                "find-tables": '["users", "orders", "items"]',
                **_each("check", "checked users", "checked orders", "checked items"),
            },
            wholes="check",
        ),
        "map_of_several_lists": Outcome(
            {
                **_each("train", "tree 2 0.1", "forest 3 0.01", "boosting 4 0.001"),
                "table": '["tree 2 0.1","forest 3 0.01","boosting 4 0.001"]',
            },
            wholes="train",
        ),
        "map_reduce_twice": Outcome(
            {
                "split": '["multiple", "sequential", "map", "reduce"]',
                **_each("measure", "8", "10", "3", "6"),
                "largest": str(list(range(10))),
                **_each("square", *[str(number**2) for number in range(10)]),
                "total": "285",
            },
            wholes="measure square",
        ),
        "model_selection": Outcome(
            {
                **_each("train", "weights-of-tree", "weights-of-forest", "weights-of-boosting"),
                **_each("evaluate", "0.15", "0.17", "0.19"),
                "pick": "0.19",
                "deploy": "deployed",
            },
            wholes="train evaluate",
        ),
        "names_and_environment": Outcome(
            {"connect": "reader@db.example.org, 3, true"},
            secrets={"database": {"USER": "reader"}},
            config_maps={"site": {"HOST": "db.example.org"}},
        ),
        "nested_maps": Outcome(
            {
                **_each("all_models[0]/train", "north/tree", "north/forest"),
                **_each("all_models[1]/train", "south/tree", "south/forest"),
                "collect": '[["north/tree","north/forest"],["south/tree","south/forest"]]',
            },
            wholes="all_models all_models[0] all_models[1] all_models[0]/train all_models[1]/train",
        ),
        "nightly": Outcome({"report": "the report"}),
        "numbers_and_branches": Outcome(
            {"draw": "7", "large": "large", "name-it": "it's two words", "both": "both"},
            skipped="small huge misread",
        ),
        "recursion": Outcome(
            {
                "join": "(a+b)",
                "join-2": "(d+e)",
                "join-3": "(c+(d+e))",
                "join-4": "((a+b)+(c+(d+e)))",
                "loop@0/flip@0": "tails",
                "result": "((a+b)+(c+(d+e))) tails",
            },
            wholes="loop loop@0 loop@0/flip",
        ),
        "shared_roots": Outcome(
            {name: name for name in ("setup", "load", "clean", "count", "train", "report")}
        ),
        "star_import": Outcome(
            {"say": "hello", "say-2": "and goodbye", **_each("say-3", "1", "2")}, wholes="say-3"
        ),
        "started_anyhow": Outcome(
            {
                "python": "at the top",
                "alpine": "",
                "main": "in main",
                "say": "a",
                "say-2": "b",
                "say-3": "c",
            }
        ),
        "subgraphs": Outcome(
            {
                "begin": "begin",
                **_etl("users", "users"),
                **_etl("orders", "orders"),
                **_etl("map[0]", "east"),
                **_etl("map[1]", "west"),
                "end": "end",
            },
            wholes="users orders map map[0] map[1]",
        ),
        "template": Outcome({"score": "scored v1", "publish": "published scored v1"}),
    }


_CONCURRENT = ("start", "left-1", "right-1", "stop")


def _etl(path: str, source: str) -> dict[str, str]:
    rest = {f"{path}/{name}": name for name in ("clean", "count", "load")}
    return {f"{path}/extract": source, **rest}


def set_folder(patch: t.Any, folder: Path) -> None:
    """Give the programs that use a folder or a repository of the machine one of their own."""
    patch.setenv("STATE", str(folder))
    repository = folder / "repository"
    repository.mkdir()
    (repository / "VERSION").write_text("1.0\n")
    (repository / "train.py").write_text("a\nb\nc\n")
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "first"), ("tag", "v1")):
        subprocess.run(["git", *words], cwd=repository, check=True)
    patch.setenv("REPO", repository.as_uri())
