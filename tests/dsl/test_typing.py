"""What type checkers see: functions keep their signatures, handles stand for values."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

api = pytest.importorskip("mypy.api")

PROGRAM = """
from typing import NamedTuple
import couler
from couler import File

class Split(NamedTuple):
    train: File
    size: int

@couler.step(memory="1Gi", retry=couler.Retry(2), cache="7d")
def split(dataset: str, fraction: float = 0.2) -> Split: ...

@couler.step
def train(model: str, data: File) -> File: ...

with couler.Workflow("w", dataset="digits") as wf:
    data = split(wf.params.dataset)
    reveal_type(split)  # TypedStep[[dataset: str, fraction: float =]
    reveal_type(couler.step(split.fn, cache=True))  # TypedStep[[dataset: str, fraction: float =]
    reveal_type(data.size)  # int
    reveal_type(train("svm", data.train))  # File
    reveal_type(train.partial(data=data.train).map(model=["a"]))  # list[File]
    reveal_type(split.fn("x"))  # tuple[File, int, fallback=Split]
    reveal_type(couler.when(data.size > 3, lambda: train("x", data.train)).result)  # File
    reveal_type(couler.concurrent([lambda: data.size]))  # list[int]
    reveal_type(couler.or_else(data.size, 3))  # int
    reveal_type(couler.map(lambda x: train("x", x), [data.train]))  # list[File]
    with couler.loop(max_iterations=3) as rounds:
        reveal_type(rounds.carry(1.5))  # float
    split(3)  # error: Argument 1 to "__call__" of "TypedStep" has incompatible type "int"
    split("x", fractoin=0.1)  # error: Unexpected keyword argument "fractoin"
    with couler.when(data.size > 3) as branch, branch.otherwise():
        couler.chain(data, [train("a", data.train)])

    couler.run_container("busybox", cpu=2, labels={"a": "b"}, step_name="c", cache="7d")
    couler.run_container("busybox", memroy="1Gi")  # error: Unexpected keyword argument "memroy"
    couler.run_container("busybox", gpu="a100")  # error: Argument "gpu" to "run_container" has
    couler.run_script("busybox", source="pass", env_from={"secret": "s"}, gpu=1)
    couler.http("http://example.org", mutex="m", memory="1Gi")  # error: Unexpected keyword
    couler.run_job({"kind": "Job"}, priority_class="high")

@couler.step(memroy="1Gi")  # error: Unexpected keyword argument "memroy"
def wrong() -> None: ...
"""


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_type_checkers_see_what_the_program_means(tmp_path: Path, cache: pytest.Cache) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    out, err, _ = api.run(
        [
            "--strict",
            "--disable-error-code=empty-body",
            "--no-error-summary",
            f"--cache-dir={cache.mkdir('mypy')}",  # what has not changed is not checked again
            "--follow-imports=silent",
            str(path),
        ]
    )
    assert err == ""
    found: dict[int, str] = {}
    for line in out.splitlines():
        match = re.match(r".*program\.py:(\d+): (note: Revealed type is \"(.*)\"|error: .*)", line)
        if match:
            found.setdefault(int(match[1]), match[3] or match[2])
    for number, line in enumerate(PROGRAM.splitlines(), 1):
        expected = line.partition("  # ")[2]
        seen = re.sub(r"builtins\.|couler\.dsl\.\w+\.|program\.|def ", "", found.pop(number, ""))
        assert (expected in seen) if expected else not seen, f"{line}\n{seen}"
    assert found == {}
