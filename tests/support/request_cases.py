"""Requests whose success depends on values of the run, and the server that they are sent to."""

from __future__ import annotations

import contextlib
import typing as t
from collections.abc import Iterator
from http.server import ThreadingHTTPServer

import couler
from couler.ir.workflow import Workflow
from tests.support.http_server import QuietHandler, serving

TEXT = 'it\'s "{{x}}" \\n {%a%} ${y} [[=1]] <é\u2028\U0001f600>\n'
BRACES = "Hi {{who}}!"
LARGE = 2**60 + 1


class Echo(QuietHandler):
    """Answers with what it was sent, with braces for double brackets."""

    def do_POST(self) -> None:  # noqa: N802 - a name of the base class
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = body.replace(b"[[", b"{{").replace(b"]]", b"}}")
        self.send_response(202)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextlib.contextmanager
def echoing() -> Iterator[str]:
    """Serve `Echo` during a block, and give its URL."""
    http = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    with serving(http):
        yield f"http://127.0.0.1:{http.server_port}/"


def requests(url: str) -> Workflow:
    """Return a workflow of requests; those whose names begin with `not` fail."""

    def answer(body: t.Any, expected: t.Any, name: str) -> t.Any:
        condition = couler.own.result == expected
        return couler.http(url, "POST", body=body, success_condition=condition, step_name=name)

    record = {"list": ["p&q", LARGE], "half": 2.5}
    with couler.Workflow(
        "requests",
        text=TEXT,
        braces=BRACES,
        count=7,
        ratio=2.5,
        large=LARGE,
        yes=True,
        record=record,
    ) as wf:
        given = wf.params
        first = couler.http(
            url, "POST", body=given.text, success_condition=couler.own.result != given.text
        )

        def two(item: t.Any) -> None:
            answer(item, item, "item-of-two")
            answer(first, first, "outer-of-two")

        def rounds() -> None:
            with couler.loop(max_iterations=3) as block:
                last = block.carry("{{", name="last")
                grown = answer(couler.text("{}'", last), couler.text("{}'", last), "round")
                block.next(grown)
                block.while_(grown != "{{''")

        couler.concurrent(
            [
                lambda: answer(first, first, "output"),
                lambda: answer(f"{TEXT} ", first, "not-output"),
                lambda: answer(BRACES, given.braces, "braces"),
                lambda: answer(" 7.0\n", given.count, "int"),
                lambda: answer("8", given.count, "not-int"),
                lambda: answer("2.50", given.ratio, "float"),
                lambda: answer(str(LARGE), given.large, "large"),
                lambda: answer(str(LARGE - 1), given.large, "not-large"),
                lambda: answer("true", given.yes, "bool"),
                lambda: answer("p&q", given.record["list"][0], "part"),
                lambda: answer(str(LARGE - 1), given.record["list"][1], "not-part"),
                lambda: answer(
                    couler.text("{}-{}", first, given.count),
                    couler.text("{}-{}", first, given.count),
                    "joined",
                ),
                lambda: couler.http(
                    url,
                    "POST",
                    body='{"n": 2.5, "m": "x"}',
                    success_condition=(couler.own.status_code > given.count)
                    & (couler.own.result["n"] == given.record["half"])
                    & (couler.own.result["m"] != first),
                    step_name="several",
                ),
                lambda: couler.map(lambda i: answer(i, i, "items"), ["p", BRACES, "it's"]),
                lambda: couler.map(lambda i: answer("2", i, "not-each"), [2, 3]),
                lambda: couler.map(lambda i: answer(first, first, "outer"), ["p", "q"]),
                lambda: couler.map(lambda i: answer("2", i, "mixed"), [2, "2"]),
                lambda: couler.map(two, ["p", BRACES]),
                rounds,
            ]
        )
    return wf.to_ir()


def bad_ends(states: t.Mapping[str, str]) -> list[str]:
    """Return the paths of the steps that do not end as they should."""
    ends = {path: state for path, state in states.items() if path != "not-each[0]"}
    return [
        path
        for path, state in ends.items()
        if state != ("failed" if path.startswith("not-") else "succeeded")
    ]
