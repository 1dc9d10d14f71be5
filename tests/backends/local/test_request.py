"""HTTP steps, against a server on this machine."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.backends.local.result import StepResult
from couler.ir.policies import Retry
from couler.ir.storage import EnvVar, SecretKey
from couler.ir.values import Template
from couler.ir.workflow import Http, Step
from tests.corpus.build import flow, ref, sh, text


class Handler(BaseHTTPRequestHandler):
    """Answers `/code/N` with the code N, `/slow` late, and anything else with the request."""

    requests: list[str]

    def answer(self) -> None:
        size = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(size).decode()
        self.requests.append(self.path)
        if self.path == "/slow":
            time.sleep(1)
        is_code = self.path.startswith("/code/")
        said = f"{self.command} {self.path} {self.headers.get('X-Token')} {body}"
        self.send_response(int(self.path.rpartition("/")[2]) if is_code else 200)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(b"x" * 70_000 if self.path == "/large" else said.encode())

    do_GET = do_POST = do_HEAD = answer  # noqa: N815  # the names that the server looks for

    def log_message(self, *_args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[tuple[str, list[str]]]:
    requests: list[str] = []
    handler = type("Recorder", (Handler,), {"requests": requests})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}", requests
        http.shutdown()
        thread.join()


def run(tmp_path: Path, action: Http, **fields: object) -> StepResult:
    step = Step(name="call", action=action, **fields)  # type: ignore[arg-type]  # a shorthand
    workflow = flow("w", sh("word", "echo good"), step, sh("end", 'echo "$1"', ref("call")))
    environ = {"PATH": "/usr/bin:/bin", "COULER_SECRET_api_token": "s3cret"}
    result = LocalBackend().run(workflow, options=RunOptions(home=tmp_path), environ=environ)
    return result.steps["call"]


def test_request_and_response(server: tuple[str, list[str]], tmp_path: Path) -> None:
    action = Http(
        url=Template(parts=(f"{server[0]}/", ref("word"))),
        method="POST",
        headers=(EnvVar(name="X-Token", secret=SecretKey(secret="api", key="token")),),
        body=text("n=", ref("word"), "ü"),
    )
    step = run(tmp_path, action)
    assert step.status == "succeeded", step.message
    assert step.outputs["result"] == "POST /good s3cret n=goodü"


@pytest.mark.parametrize(
    ("code", "success_codes", "succeeds"),
    [(204, (), True), (404, (), False), (404, (200, 404), True), (200, (404,), False)],
)
def test_codes(
    code: int,
    success_codes: tuple[int, ...],
    succeeds: bool,
    server: tuple[str, list[str]],
    tmp_path: Path,
) -> None:
    action = Http(url=f"{server[0]}/code/{code}", success_codes=success_codes)
    step = run(tmp_path, action)
    assert (step.status == "succeeded") is succeeds
    assert succeeds or f"answered with {code}" in str(step.message)


def test_wrong_code_is_a_failure_and_tried_again(
    server: tuple[str, list[str]], tmp_path: Path
) -> None:
    action = Http(url=f"{server[0]}/code/503")
    step = run(tmp_path, action, retry=Retry(limit=2, on=("failure",)))
    assert (step.status, step.attempts) == ("failed", 3)
    assert server[1] == ["/code/503"] * 3


def test_no_answer_is_an_error(tmp_path: Path) -> None:
    # Port 9 of this machine: nothing listens there.
    step = run(tmp_path, Http(url="http://127.0.0.1:9/"), retry=Retry(limit=1, on=("error",)))
    assert (step.status, step.attempts) == ("failed", 2)
    assert "GET http://127.0.0.1:9/" in str(step.message)


def test_time_limit(server: tuple[str, list[str]], tmp_path: Path) -> None:
    step = run(tmp_path, Http(url=f"{server[0]}/slow"), timeout_s=0.1)
    assert (step.status, step.message) == ("failed", "it did not end within its time limit")


def test_body_is_a_value_with_its_limit(server: tuple[str, list[str]], tmp_path: Path) -> None:
    step = run(tmp_path, Http(url=f"{server[0]}/large"))
    assert step.status == "failed"
    assert "larger than 65,536 bytes" in str(step.message)


def test_only_http(tmp_path: Path) -> None:
    step = run(tmp_path, Http(url=text("file://", "/etc/hostname")))
    assert step.status == "failed"
    assert "no URL that begins with http" in str(step.message)
