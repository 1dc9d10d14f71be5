"""Steps that run a container, a script or a job of the cluster."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence

from couler.dsl.builder import current_scope
from couler.dsl.drafts import Draft, Returns
from couler.dsl.handles import ProcessHandle
from couler.dsl.options import text_of
from couler.dsl.types import STR
from couler.ir.workflow import STDOUT, Container

PRINTS = Returns((), {STDOUT: STR}, main=STDOUT, has_stdout=True)
"""What a process gives out that declares no outputs: its standard output."""


def run_container(
    image: str | None = None,
    command: str | Sequence[object] | None = None,
    args: object = None,
    output: object = None,
    input: object = None,
    env: Mapping[str, object] | None = None,
    env_from: t.Any = None,
    secret: str | Sequence[str] | None = None,
    resources: Mapping[str, object] | None = None,
    timeout: t.Any = None,
    retry: t.Any = None,
    step_name: str | None = None,
    **options: t.Any,
) -> ProcessHandle:
    """Run a command in an image."""
    scope = current_scope()
    builder = scope.builder
    name, source = builder.locate("step")
    base = step_name or name
    words = (command,) if isinstance(command, str) else tuple(command or ())
    arguments = args if isinstance(args, list | tuple) else () if args is None else (args,)
    action = Container(
        image=image or builder.default_image or "",
        command=tuple([word if type(word) is str else text_of(word) for word in words]),
        args=tuple([word if type(word) is str else text_of(word) for word in arguments]),
    )
    draft = Draft(scope, action, PRINTS)
    draft.source = source
    return ProcessHandle(scope.add(draft, base))
