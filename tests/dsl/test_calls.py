"""HTTP requests and pauses, as programs write them."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

import couler
from couler import stages
from couler.ir.policies import Dependency, Retry
from couler.ir.storage import EnvVar, SecretKey
from couler.ir.values import ParamRef, StepRef, Template
from couler.ir.workflow import Http
from tests.dsl.look import box, codes, problems, steps, waits
from tests.support import argo_schema
from tests.support.http_server import QuietHandler, serving

GOLDEN = Path(__file__).parents[1] / "golden" / "dsl" / "calls.yaml"


class Handler(QuietHandler):
    """Answers with the request; `/code/N` with the code N."""

    def answer(self) -> None:
        size = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(size).decode()
        is_code = self.path.startswith("/code/")
        self.send_response(int(self.path.rpartition("/")[2]) if is_code else 200)
        self.end_headers()
        said = [self.command, self.path, self.headers.get("X-Token"), body]
        self.wfile.write(json.dumps(said).encode())

    do_GET = do_POST = answer  # noqa: N815  # the names that the server looks for


@pytest.fixture
def server() -> Iterator[str]:
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as http:
        yield f"http://127.0.0.1:{http.server_port}"


def call(workflow: couler.Workflow, name: str) -> Http:
    action = steps(workflow)[name].action
    assert isinstance(action, Http)
    return action


def test_a_request() -> None:
    with couler.Workflow("w", host="example.org", token="x") as wf:
        text = box("text")
        couler.http("https://example.org", step_name="plain")
        couler.http(
            couler.text("https://{}/", wf.params.host),
            "post",
            {"A": "b", "B": wf.params.token, "C": SecretKey(secret="s", key="k"), "D": 3},
            body=text,
            success_codes=[200, 409],
            timeout="20s",
            retry=2,
            step_name="full",
            labels={"team": "ml"},
        )
        couler.http("https://example.org", body={"a": [1]}, success_codes=204, name="json")
    assert codes(wf) == []
    assert call(wf, "plain") == Http(url="https://example.org")
    full = steps(wf)["full"]
    assert full.action == Http(
        url=Template(parts=("https://", ParamRef(name="host"), "/")),
        method="POST",
        headers=(
            EnvVar(name="A", value="b"),
            EnvVar(name="B", value=ParamRef(name="token")),
            EnvVar(name="C", secret=SecretKey(secret="s", key="k")),
            EnvVar(name="D", value="3"),
        ),
        body=StepRef(step="text"),
        success_codes=(200, 409),
    )
    assert (full.timeout_s, full.retry, full.labels) == (20, Retry(limit=2), {"team": "ml"})
    assert (call(wf, "json").body, call(wf, "json").success_codes) == ('{"a":[1]}', (204,))


def test_steps_are_named_as_others_are() -> None:
    def fetch() -> t.Any:
        return couler.http("https://example.org")

    def rest() -> t.Any:
        return couler.suspend(1)

    with couler.Workflow("w") as wf:
        fetch()
        fetch()
        rest()
        couler.http("https://example.org")
        couler.suspend(1)
        couler.suspend(1, "named")
    assert list(steps(wf)) == ["fetch", "fetch-2", "rest", "http", "suspend", "named"]


def test_what_a_request_gives_and_what_it_waits_for() -> None:
    with couler.Workflow("w") as wf:
        found = couler.http("https://example.org", step_name="find")
        with couler.when(found == "yes"):
            read = box("read", found, found.result)
        couler.failure(found) >> box("alert")
        found >> couler.suspend(1, "rest") >> box("end")
        with couler.when(found["score"] > 0.5):
            box("good", read.or_else("x"))
    assert codes(wf) == []
    assert steps(wf)["read"].action.args == (StepRef(step="find"), StepRef(step="find"))
    assert waits(wf)["alert"] == (Dependency(step="find", on="failure"),)
    assert (waits(wf)["rest"], waits(wf)["end"]) == (("find",), ("rest",))


@pytest.mark.parametrize(
    ("make", "code", "what"),
    [
        (lambda: couler.http("example.org"), "CLR423", "is no URL"),
        (lambda: couler.http(3), "CLR423", "is no URL"),
        (lambda: couler.http("https://a.org", "FLY"), "CLR105", "method"),
        (lambda: couler.http("https://a.org", 3), "CLR105", "http"),
        (lambda: couler.http("https://a.org", headers=3), "CLR105", "no dict"),
        (lambda: couler.http("https://a.org", headers={"a b": "c"}), "CLR423", "header"),
        (lambda: couler.http("https://a.org", success_codes="x"), "CLR105", "success_codes"),
        (lambda: couler.http("https://a.org", success_codes=99), "CLR423", "99"),
        (lambda: couler.http("https://a.org", body=object()), "CLR103", "JSON"),
        (lambda: couler.http("https://a.org", env={"A": "b"}), "CLR410", "env"),
        (lambda: couler.http("https://a.org", timeuot=3), "CLR104", '"timeout"'),
        (lambda: couler.suspend("soon"), "CLR105", "suspend: 'soon' is no duration"),
        (lambda: couler.suspend(0), "CLR105", "more than 0"),
        (lambda: couler.suspend(1, message=3), "CLR105", "message"),
        (lambda: couler.suspend(1, retry=3), "CLR410", "retry"),
        (lambda: box("read", couler.suspend(1)), "CLR115", "waits, and gives no value"),
        (lambda: box("read", couler.http("https://a.org").body), "AttributeError", "body"),
    ],
)
def test_mistakes_are_told_of_once(make: Callable[[], object], code: str, what: str) -> None:
    with couler.Workflow("w") as wf:
        if code == "AttributeError":
            with pytest.raises(AttributeError, match=what):
                make()
            box("read")
        else:
            make()
    assert [one.code for one in problems(wf)] == ([] if code == "AttributeError" else [code])
    assert all(what in one.message for one in problems(wf))


def test_requests_and_pauses_run_on_this_machine(server: str, tmp_path: Path) -> None:
    with couler.Workflow("calls", url=server) as wf:
        told = couler.http(
            couler.text("{}/tell", wf.params.url),
            "POST",
            {"X-Token": "t"},
            body={"score": 1},
            success_codes=[200],
            step_name="tell",
        )
        pages = couler.map(
            lambda page: couler.http(couler.text("{}/{}", wf.params.url, page), name="page"),
            ["a", "b"],
        )
        told >> couler.suspend(0.01, "rest") >> box("end", told[3])
        missing = couler.text("{}/code/404", wf.params.url)
        missed = couler.http(missing, step_name="miss")
        couler.failure(missed) >> box("alert")
        wf.output("told", told)
        wf.output("pages", pages)
        wf.output("found", couler.http(missing, success_codes=404, step_name="found")[1])
    assert codes(wf) == []
    result = stages.run(wf)
    assert result.status == "succeeded", result.to_json()
    told_of = json.loads(t.cast(str, result.outputs["told"]))
    assert told_of == ["POST", "/tell", "t", '{"score":1}']
    shown = [json.loads(one)[1] for one in t.cast("list[str]", result.outputs["pages"])]
    assert (shown, result.outputs["found"]) == (["/a", "/b"], "/code/404")
    assert (result.steps["miss"].status, result.steps["alert"].status) == ("failed", "succeeded")


@pytest.mark.golden
def test_requests_and_pauses_for_argo(golden: Callable[[Path, str], None]) -> None:
    with couler.Workflow("calls", host=str) as wf:
        told = couler.http(
            couler.text("https://{}/tell", wf.params.host),
            "POST",
            {"X-Kind": "score", "Authorization": SecretKey(secret="hook", key="token")},
            body={"score": 1},
            success_codes=[200, 202],
            retry=2,
            step_name="tell",
        )
        couler.map(lambda page: couler.http(couler.text("https://a.org/{}", page)), ["a", "b"])
        told >> couler.suspend("10m", "rest") >> couler.suspend(step_name="ask", message="Go on?")
    assert codes(wf) == []
    artifact = stages.compile(wf, "argo")
    golden(GOLDEN, artifact.to_text())
    manifest = json.loads(stages.compile(wf, "argo", format="json").to_text())
    assert argo_schema.problems(manifest) == []
