"""A plan as a picture, and as a page of HTML that needs nothing besides."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from couler.errors import InvalidWorkflowError, UnsupportedFeatureError, fold
from couler.optimizers.log_text import (
    COLUMNS,
    change_lines,
    options_text,
)
from couler.optimizers.pipeline import PassRecord
from couler.stages.planning import Plan

_MOST_CHANGES = 200
"""A page lists so many changes of one pass; the JSON has all."""

_STYLE = """
:root{color-scheme:light dark;--line:#d0d7de;--soft:#59636e;--ground:#fff;--ink:#1f2328}
@media (prefers-color-scheme:dark){:root{--line:#3d444d;--soft:#9198a1;--ground:#0d1117;\
--ink:#e6edf3}}
body{font-family:Helvetica,Arial,'Liberation Sans',sans-serif;margin:24px;background:var(--ground);\
color:var(--ink)}
h1{font-size:20px}h2{font-size:15px;margin:20px 0 4px}.soft{color:var(--soft)}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:13px}
th,td{padding:4px 10px;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}
th:first-child,td:first-child{text-align:left}tr:last-child td{font-weight:600}
.pair{display:grid;grid-template-columns:1fr 1fr;gap:16px}
.pair>div{overflow:auto;border:1px solid var(--line);max-height:90vh}
.pair svg{max-width:100%;height:auto}#full:checked~.pair svg{max-width:none;height:revert-layer}
label{font-size:13px}
ul{list-style:none;padding-left:16px;margin:4px 0;font-family:monospace;font-size:12px}
"""


def picture_plan(plan: Plan, as_: str) -> str:
    """Return a picture of the workflow before and after the passes.

    Parameters
    ----------
    plan
        The plan.
    as_
        `svg`, `mermaid` or `dot`; `html` has both side by side with all that the plan tells.

    Raises
    ------
    EngineOptionError
        There is no such picture.
    """
    if as_ == "html":
        return "\n".join(_page(plan))
    from couler.show.pair import render_pair

    return render_pair(plan.source, plan.workflow, as_)


def _page(plan: Plan) -> Iterator[str]:
    from couler.show.pair import draw_at

    title = escape(plan.title)
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>"
    yield from _table(plan)
    yield f'<p class="soft">{escape(plan.known_text)}</p>'
    yield '<input type="checkbox" id="full"><label for="full">pictures in full size</label>'
    yield '<div class="pair">'
    for workflow, moment in ((plan.source, "before"), (plan.workflow, "after")):
        yield f"<div>{draw_at(workflow, moment).text()}</div>"
    yield "</div>"
    for record in plan.log.records:
        yield from _pass(record)
    for heading, lines in (
        ("Merged in last, as the program gives it", [str(one) for one in plan.overrides]),
        (
            "Warnings",
            [text for one, more in fold(plan.warnings) for text in (str(one), more) if text],
        ),
        (f"Refused by {plan.engine}", [] if plan.refusal is None else _refusal(plan.refusal)),
    ):
        if lines:
            yield f"<h2>{heading}</h2>"
            yield from _list(lines)
    yield "</body>\n</html>"


def _table(plan: Plan) -> Iterator[str]:
    yield '<div class="wide"><table>\n<tr>'
    yield "".join(f"<th>{escape(head)}</th>" for head in COLUMNS) + "</tr>"
    for row in plan.rows:
        cells = "".join(f"<td>{_cell(cell)}</td>" for cell in row.cells(plan.currency))
        yield f"<tr>{cells}</tr>"
    yield "</table></div>"


def _cell(text: str) -> str:
    return escape(
        text.replace(" -> ", " \N{RIGHTWARDS ARROW} ").replace(">=", "\N{GREATER-THAN OR EQUAL TO}")
    )


def _pass(record: PassRecord) -> Iterator[str]:
    yield f"<h2>{escape(record.name + options_text(record))}</h2>"
    if record.reason:
        yield f"<p>{escape(record.reason)}</p>"
    yield from _list(change_lines(record, _MOST_CHANGES))


def _refusal(refusal: InvalidWorkflowError | UnsupportedFeatureError) -> list[str]:
    return [text for one, more in fold(refusal.diagnostics) for text in (str(one), more) if text]


def _list(lines: list[str] | Iterator[str]) -> Iterator[str]:
    yield "<ul>"
    for line in lines:
        yield f"<li>{escape(line)}</li>"
    yield "</ul>"
