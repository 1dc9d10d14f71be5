"""Progress that running steps report: lines of their logs, which need nothing of Couler there."""

from __future__ import annotations

import json

REPORT = (
    'lambda **values: print("couler-progress", '
    '__import__("json").dumps(values, default=float), flush=True)'
)
"""The code of `couler.report_progress` in the scripts of steps."""


def report_progress(
    *, loss: float | None = None, done: float | None = None, **values: object
) -> None:
    """Report the progress of training on a line of the log.

    `couler cluster plan` reads such lines from the jobs that it has created.

    Parameters
    ----------
    loss
        Value of the evaluation function; less is better.
    done
        The part of the work that is done, from 0 to 1.
    values
        Further values that JSON has.

    Examples
    --------
    >>> import couler
    >>> couler.report_progress(loss=0.25, done=0.5)
    couler-progress {"loss": 0.25, "done": 0.5}
    """
    given = {"loss": loss, "done": done, **values}
    told = {name: value for name, value in given.items() if value is not None}
    print("couler-progress", json.dumps(told, default=float), flush=True)  # noqa: T201 (it is what this does)
