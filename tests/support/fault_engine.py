"""An engine in a process of its own, which a test may kill: `fault_engine.py HOME WORKFLOW [RUN]`.

It runs a workflow, or takes up a run again. It prints `ready` when it begins, and its result as
JSON when it ends. Its exit code is that of the command `couler`.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from couler.backends.base import RunOptions
from couler.backends.local import (
    LocalBackend,
    run as _run,  # noqa: F401  # what a run needs is loaded now
)
from couler.errors import CoulerError
from couler.ir.serialize import read_json
from couler.state import journal

KILL_AT = "FAULTS_KILL_AT"
"""Variable `<point>:<number>`: where the engine kills itself."""

JOBS = "FAULTS_JOBS"
FILE_BYTES = "FAULTS_FILE_BYTES"
"""Variable: how large files may become, in the place of a disk that is full."""


def _killing(number: int) -> Callable[[], None]:
    count = 0

    def step() -> None:
        nonlocal count
        count += 1
        if count == number:
            os.kill(os.getpid(), signal.SIGKILL)

    return step


def _kill_at(point: str, number: int) -> None:
    """Have this process die at the given occurrence of a point."""
    step = _killing(number)
    if point == "spawn":  # the process runs, and nobody knows its number
        start = subprocess.Popen.__init__

        def started(*args: object, **options: object) -> None:
            start(*args, **options)  # type: ignore[arg-type]  # handed on
            step()

        subprocess.Popen.__init__ = started  # type: ignore[method-assign, assignment]
    elif point == "write":  # some rows of a transaction are written
        write = journal._RowWriter.write

        def written(self: journal._RowWriter, *args: object) -> None:
            write(self, *args)  # type: ignore[arg-type]  # handed on
            step()

        journal._RowWriter.write = written  # type: ignore[method-assign, assignment]
    elif point in ("before", "after"):  # a commit
        flush = journal.Journal.flush

        def flushed(self: journal.Journal) -> None:
            if point == "before" and not self.is_empty:
                step()
            is_empty = self.is_empty
            flush(self)
            if point == "after" and not is_empty:
                step()

        journal.Journal.flush = flushed  # type: ignore[method-assign]
    else:
        raise ValueError(point)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Do what the arguments say."""
    home, file, *run = sys.argv[1:]
    point, _, number = os.environ.get(KILL_AT, "").partition(":")
    if point:
        _kill_at(point, int(number))
    if FILE_BYTES in os.environ:
        most = int(os.environ[FILE_BYTES])
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    options = RunOptions(home=Path(home), jobs=int(os.environ.get(JOBS, "4")))
    workflow = read_json(Path(file).read_text(encoding="utf-8"))
    _say("ready")
    try:
        if run:
            result = LocalBackend().retry(run[0], options=options)
        else:
            result = LocalBackend().run(workflow, options=options)
        _say(json.dumps(result.to_json()))
    except CoulerError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    except KeyboardInterrupt:  # also one that comes while the end of the run is told
        return 130
    return {"succeeded": 0, "failed": 1, "cancelled": 130}[result.status]


if __name__ == "__main__":
    sys.exit(main())
