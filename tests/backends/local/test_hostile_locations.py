"""Locations and servers that mean harm, or break: what a value, an answer or an archive may do."""

from __future__ import annotations

import http.server
import os
import typing as t
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.ir.artifacts import (
    BasicAuth,
    GitLocation,
    HdfsLocation,
    HttpHeader,
    HttpLocation,
    Location,
    OAuth2,
    S3Location,
    Zip,
)
from couler.ir.storage import EnvVar, SecretKey
from couler.ir.workflow import Http, Input, Step, Workflow
from couler.state.results import RunResult
from tests.corpus.build import flow, ref, sh
from tests.support.http_server import QuietHandler, serving

USER, PASSWORD, TOKEN = (SecretKey(secret="web", key=key) for key in ("user", "password", "token"))
SECRETS = {
    "COULER_SECRET_web_user": "ada",
    "COULER_SECRET_web_password": "hunter2222",
    "COULER_SECRET_web_token": "ftp://127.0.0.1/?apikey=TOPSECRET",
}


class _Handler(QuietHandler):
    server: Server

    def do_GET(self) -> None:  # noqa: N802 - a name of the base class
        self.server.paths.append(self.path)
        self.server.asked.append({name.lower(): value for name, value in self.headers.items()})
        self.send_response(self.server.code)
        for name, value in self.server.answer.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(b"abc")


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, code: int = 200, **answer: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.code, self.answer = code, answer
        self.asked: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}/a"


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    with ExitStack() as stack:
        yield lambda *code, **answer: stack.enter_context(serving(Server(*code, **answer)))


def run(workflow: Workflow, folder: Path) -> RunResult:
    return LocalBackend().run(
        workflow,
        options=RunOptions(home=folder / "home", jobs=2),
        environ={**os.environ, **SECRETS},
    )


def reads(location: Location, **fields: t.Any) -> Step:
    given = Input(name="data", type="file", at=location, **fields)
    return sh("read", 'cat "$COULER_INPUT_data"', inputs=[given])


def hostile_run(location: Location, text: str, folder: Path) -> RunResult:
    """Run a step whose location has a text from an earlier step."""
    return run(flow("w", sh("say", f"echo '{text}'"), reads(location)), folder)


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ("file:///etc/hostname", HttpLocation(url=ref("say"))),
        ("--upload-pack=touch here", GitLocation(repository="/none", revision=ref("say"))),
        ("--upload-pack=touch here", GitLocation(repository=ref("say"))),
        ("../../up", S3Location(key=ref("say"))),
        ("/../up", HdfsLocation(path=ref("say"))),
    ],
    ids=["file-url", "git-revision", "git-repository", "key", "path"],
)
def test_a_value_leads_nowhere_where_a_text_may_not(
    text: str, location: Location, tmp_path: Path
) -> None:
    ended = hostile_run(location, text, tmp_path)
    step = ended.steps["read"]
    assert (ended.status, step.status, step.attempts) == ("failed", "failed", 0)
    assert text in str(step.message)
    assert not Path("here").exists()


def test_another_server_gets_no_secret_by_a_redirect(
    serve: Callable[..., Server], tmp_path: Path
) -> None:
    other = serve()
    first = serve(302, Location=other.url)
    basic = BasicAuth(user=USER, password=PASSWORD)
    headers = (HttpHeader(name="X-Key", value="mine"),)
    fetched = run(
        flow("w", reads(HttpLocation(url=first.url, basic=basic, headers=headers))), tmp_path
    )
    assert fetched.status == "succeeded"
    ask = Http(url=first.url, headers=(EnvVar(name="Authorization", secret=PASSWORD),))
    asked = run(flow("w", Step(name="ask", action=ask)), tmp_path)
    assert asked.status == "succeeded"
    assert ["authorization" in one for one in first.asked] == [True, True]
    assert first.asked[0]["x-key"] == "mine"
    assert len(other.asked) == 2
    assert not any({"authorization", "x-key"} & one.keys() for one in other.asked)


def test_the_same_server_gets_them_again(serve: Callable[..., Server], tmp_path: Path) -> None:
    server = serve(302)
    server.answer["Location"] = f"{server.url}?again"
    basic = BasicAuth(user=USER, password=PASSWORD)
    assert run(flow("w", reads(HttpLocation(url=server.url, basic=basic))), tmp_path).status == (
        "failed"  # it redirects for ever
    )
    assert len(server.asked) > 2
    assert all("authorization" in one for one in server.asked)


def test_an_answer_that_breaks_off_is_no_file(serve: Callable[..., Server], tmp_path: Path) -> None:
    server = serve(**{"Content-Length": "1000"})
    ended = run(flow("w", reads(HttpLocation(url=server.url))), tmp_path)
    assert ended.status == "failed"
    assert "broke off 997 bytes early" in str(ended.steps["read"].message)


def test_a_part_that_breaks_off_is_no_file(serve: Callable[..., Server], tmp_path: Path) -> None:
    server = serve(**{"Transfer-Encoding": "chunked"})  # whose first part is to have 0xabc bytes
    ended = run(flow("w", reads(HttpLocation(url=server.url))), tmp_path)
    assert ended.status == "failed"
    assert f"GET {server.url}: " in str(ended.steps["read"].message)


def test_letters_beyond_ascii_in_a_url(serve: Callable[..., Server], tmp_path: Path) -> None:
    server = serve()
    ended = run(flow("w", reads(HttpLocation(url=f"{server.url}/größe%20b?x=ä&y=1+2"))), tmp_path)
    assert ended.status == "succeeded"
    assert server.paths == ["/a/gr%C3%B6%C3%9Fe%20b?x=%C3%A4&y=1+2"]


def test_a_password_that_a_value_brings_into_an_address(tmp_path: Path) -> None:
    ended = hostile_run(
        HttpLocation(url=ref("say")), "http://ada:hunter2222@127.0.0.1:1/a", tmp_path
    )
    step = ended.steps["read"]
    assert (step.status, step.attempts) == ("failed", 0)
    assert "has a password in it" in str(step.message)
    assert "hunter2222" not in str(step.message)


def test_an_address_that_is_a_secret_is_told_nowhere(tmp_path: Path) -> None:
    oauth2 = OAuth2(client_id=USER, client_secret=PASSWORD, token_url=TOKEN)
    ended = run(flow("w", reads(HttpLocation(url="http://127.0.0.1:1/", oauth2=oauth2))), tmp_path)
    message = str(ended.steps["read"].message)
    assert "no token" in message
    assert '"token" of the secret "web"' in message
    assert "TOPSECRET" not in message
    for file in (tmp_path / "home").rglob("*"):
        assert not file.is_file() or b"TOPSECRET" not in file.read_bytes(), file


def test_a_broken_archive_fails_its_step_alone(
    serve: Callable[..., Server], tmp_path: Path
) -> None:
    packed = tmp_path / "encrypted.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a", b"text")
    content = bytearray(packed.read_bytes())
    content[6] |= 1  # the flag of an encrypted entry, in its header
    content[content.index(b"PK\x01\x02") + 8] |= 1  # and in the directory
    packed.write_bytes(content)
    folder = tmp_path / "home" / "repository"
    folder.mkdir(parents=True)
    (folder / "encrypted.zip").write_bytes(content)
    workflow = flow(
        "w", reads(S3Location(key="encrypted.zip"), archive=Zip()), sh("beside", "echo fine")
    )
    ended = run(workflow, tmp_path)
    assert ended.steps["beside"].status == "succeeded"
    assert ended.steps["read"].status == "failed"
    assert "no zip archive that can be read" in str(ended.steps["read"].message)
