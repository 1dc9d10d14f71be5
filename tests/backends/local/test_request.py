"""HTTP steps, against a server on this machine."""

from __future__ import annotations

import base64
import shutil
import ssl
import subprocess
import time
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.ir.policies import Retry
from couler.ir.storage import EnvVar, SecretKey
from couler.ir.values import Compare, Field, Literal, OwnRef, Template
from couler.ir.workflow import Http, Input, Step
from couler.state.results import StepResult
from tests.corpus.build import flow, ref, sh, text
from tests.support.http_server import QuietHandler, serving
from tests.support.request_cases import bad_ends, echoing, requests
from tests.support.sample_flows import own_fact as own


class Handler(QuietHandler):
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


@pytest.fixture
def server() -> Iterator[tuple[str, list[str]]]:
    requests: list[str] = []
    handler = type("Recorder", (Handler,), {"requests": requests})
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as http:
        yield f"http://127.0.0.1:{http.server_port}", requests


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


def test_body_of_bytes_is_sent_as_it_is(server: tuple[str, list[str]], tmp_path: Path) -> None:
    url, _ = server
    encoded = base64.b64encode("ä!".encode()).decode()
    step = run(tmp_path, Http(url=f"{url}/x", method="POST", body_base64=encoded))
    assert step.outputs["result"] == "POST /x None ä!"


@pytest.mark.parametrize(
    ("path", "condition", "status"),
    [
        ("/code/404", own("==", 404, "status_code"), "succeeded"),
        ("/code/200", own("==", 404, "status_code"), "failed"),
        ("/x", own("==", "GET /x None ", "output", "result"), "succeeded"),
        ("/x", own("==", "", "header", "X-Absent"), "succeeded"),
        ("/x", own("!=", "", "header", "SERVER"), "succeeded"),
        ("/x", own("==", 3, "output", "result"), "failed"),
    ],
)
def test_success_by_a_condition(
    server: tuple[str, list[str]], tmp_path: Path, path: str, condition: Compare, status: str
) -> None:
    url, _ = server
    step = run(tmp_path, Http(url=f"{url}{path}", success_condition=condition))
    assert step.status == status


def test_part_of_a_response_decides(tmp_path: Path, server: tuple[str, list[str]]) -> None:
    url, _ = server
    part = Field(of=OwnRef(fact="output", name="result"), path=("state",))
    done = Compare(left=part, op="==", right=Literal(value="done"))
    step = run(tmp_path, Http(url=f"{url}/x", success_condition=done))
    assert (step.status, "the condition on the response" in str(step.message)) == ("failed", True)


def test_certificate_is_checked_unless_told_otherwise(
    tmp_path: Path, certificate: tuple[Path, Path]
) -> None:
    handler = type("Recorder", (Handler,), {"requests": []})
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    http.socket = context.wrap_socket(http.socket, server_side=True)
    with serving(http):
        url = f"https://127.0.0.1:{http.server_port}/x"
        refused = run(tmp_path / "a", Http(url=url))
        taken = run(tmp_path / "b", Http(url=url, verify_tls=False))
    assert (refused.status, "CERTIFICATE_VERIFY_FAILED" in str(refused.message)) == ("failed", True)
    assert taken.status == "succeeded"


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """Return a certificate that nobody trusts, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not there to make a certificate")
    made, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"]
    subprocess.run([*words, "-out", made, "-keyout", key], check=True, capture_output=True)
    return made, key


@pytest.mark.parametrize(("word", "status"), [("good", "succeeded"), ("bad", "failed")])
def test_an_input_decides(
    tmp_path: Path, server: tuple[str, list[str]], word: str, status: str
) -> None:
    result = OwnRef(fact="output", name="result")
    condition = Compare(left=result, op="==", right=OwnRef(fact="input", name="v"))
    action = Http(
        url=f"{server[0]}/x", method="POST", body=ref("word"), success_condition=condition
    )
    wanted = Input(name="v", value=text(f"POST /x None {word}"))
    assert run(tmp_path, action, inputs=(wanted,)).status == status


@pytest.mark.slow
def test_values_of_the_run_decide(tmp_path: Path) -> None:
    with echoing() as url:
        result = LocalBackend().run(requests(url), options=RunOptions(home=tmp_path, jobs=4))
    assert bad_ends({path: step.status for path, step in result.steps.items()}) == []
