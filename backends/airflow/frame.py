"""The frame of a DAG file, from a template: docstring, imports, definitions, the DAG."""

from __future__ import annotations

import textwrap
import typing as t
from collections.abc import Sequence
from functools import cache
from importlib import resources

from couler.backends.airflow.module import Definitions
from couler.backends.airflow.python import WIDTH

if t.TYPE_CHECKING:
    from jinja2 import Template


def framed(
    *,
    docstring: Sequence[str],
    imports: str,
    definitions: Definitions,
    dag: str,
    tasks: str,
) -> str:
    """Return a DAG file."""
    _, title, *about = (line for text in docstring for line in ("", *_paragraph(text)))
    return _frame().render(
        title=f" {title}" if title.startswith('"') else title,
        about=about,
        imports=imports,
        **definitions._asdict(),
        dag=dag,
        tasks=tasks,
    )


@cache
def _frame() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        block_start_string="[%",
        block_end_string="%]",
        variable_start_string="[[",
        variable_end_string="]]",
        comment_start_string="[#",
        comment_end_string="#]",
        trim_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        autoescape=False,
    )
    source = resources.files(__package__) / "templates" / "dag.py.jinja"
    return environment.from_string(source.read_text(encoding="utf-8"))


def _paragraph(text: str) -> list[str]:
    """Return the lines of a text in a docstring."""
    lines: list[str] = []
    for line in text.strip().splitlines():
        shown = "".join(one if one.isprintable() else " " for one in line)
        safe = shown.replace("\\", "\\\\").replace('"""', "'''")
        lines += textwrap.wrap(safe, WIDTH - 2, break_long_words=False) or [""]
    return lines
