"""An engine under a budget that kills itself: `cache_fault_engine.py HOME BUDGET PARAMETERS [RUN]`.

It runs the workflow of `cache_faults`, or takes a run of it up again, and prints `ready` when it
begins and its result as JSON when it ends. Its exit code is that of the command `couler`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from couler.backends.base import RunOptions
from couler.backends.local import (
    LocalBackend,
    cache as step_cache,
    run as _run,  # noqa: F401  # what a run needs is loaded now
)
from couler.errors import CoulerError
from couler.ir.serialize import read_json
from couler.state import admission
from couler.store.local import LocalPlace

KILL_AT = "CACHE_FAULTS_KILL_AT"
"""Variable `<point>:<number>`: where the engine kills itself."""

POINTS: dict[str, tuple[object, str, bool]] = {
    "before an admission": (step_cache, "settle_offer", False),
    "in an admission": (admission, "_keep", True),
    "in an eviction": (admission, "_evict", True),
    "in a refusal": (admission, "_refuse", True),
    "after an admission": (step_cache, "settle_offer", True),
    "in a hit": (admission, "_supersede", True),
    "between the parts of a hit": (step_cache, "hold_entry", True),
    "after a hit": (step_cache, "count_hit", True),
    "before a file is deleted": (LocalPlace, "delete", False),
    "after a file is deleted": (LocalPlace, "delete", True),
    "before a run is released": (step_cache, "release_runs", False),
    "after a run is released": (step_cache, "release_runs", True),
    "when a file is stored": (LocalPlace, "add", True),
}
"""What is called there, and whether the engine dies after the call."""


def _kill_at(point: str, number: int) -> None:
    """Have this process die at the given occurrence of a point."""
    owner, name, is_after = POINTS[point]
    call: Callable[..., object] = getattr(owner, name)
    count = 0

    def die() -> None:
        nonlocal count
        count += 1
        if count == number:
            os.kill(os.getpid(), signal.SIGKILL)

    def called(*args: object, **options: object) -> object:
        if not is_after:
            die()
        result = call(*args, **options)
        if is_after:
            die()
        return result

    setattr(owner, name, called)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Do what the arguments say."""
    home, budget, workflow, parameters, *run = sys.argv[1:]
    point, _, number = os.environ.get(KILL_AT, "").partition(":")
    if point:
        _kill_at(point, int(number))
    options = RunOptions(home=Path(home), jobs=2, cache_budget=int(budget))
    program = read_json(Path(workflow).read_text(encoding="utf-8"))
    _say("ready")
    try:
        if run:
            result = LocalBackend().retry(run[0], options=options)
        else:
            given = json.loads(parameters)
            result = LocalBackend().run(program, parameters=given, options=options)
    except CoulerError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    _say(json.dumps(result.to_json()))
    return {"succeeded": 0, "failed": 1, "cancelled": 130}[result.status]


if __name__ == "__main__":
    sys.exit(main())
