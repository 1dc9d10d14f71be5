"""A step that others can use: it tells people that something happened."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence

import couler
from couler.steps import STATIC, zoo_step


@zoo_step("example.announce", version="1.2")
def announce(
    text: str,
    channels: t.Annotated[Sequence[str], STATIC] = ("general",),
    urgent: bool = False,
    retry: int = 0,
) -> t.Any:
    """Tell people what happened.

    Parameters
    ----------
    text
        What they are told; can be a value of the workflow.
    channels
        Where.
    urgent
        Wake them up.
    retry
        How often to try again.

    Examples
    --------
    >>> import couler
    >>> from couler_plugin_example.steps import announce
    >>> with couler.Workflow("done") as wf:
    ...     told = announce("the model is trained", channels=["ml"])
    """
    return couler.run_container(
        "example.org/announce:1.2",
        ["announce", *(["--urgent"] if urgent else []), *channels],
        args=[text],
        retry=retry,
        step_name="announce",
    )
