"""Credentials of Git go to the server that they are for, and to no other."""

from __future__ import annotations

import base64
import functools
import http.server
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from couler.backends.local.locations.exchange import run_command
from couler.errors import StoreError
from couler.ir.artifacts import GitLocation
from couler.ir.storage import SecretKey
from couler.locations.git import GitTree
from couler.locations.secrets import Entries
from couler.locations.stop import Stop
from tests.support.http_server import QuietHandler, serving

USER, PASSWORD = (SecretKey(secret="code", key=key) for key in ("user", "password"))
SECRETS = {"COULER_SECRET_code_user": "ada", "COULER_SECRET_code_password": "TOPSECRET"}
BASIC = f"Basic {base64.b64encode(b'ada:TOPSECRET').decode()}"


class _Handler(QuietHandler, http.server.SimpleHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        given = self.headers["Authorization"]
        self.server.given.add(given)
        if self.server.leads_to is not None:
            self.send_response(302)
            self.send_header("Location", self.server.leads_to + self.path)
            self.end_headers()
        elif given == BASIC:
            super().do_GET()
        else:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="code"')
            self.end_headers()


class Server(http.server.ThreadingHTTPServer):
    """Serves bare repositories to who knows the password, or leads elsewhere."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), functools.partial(_Handler, directory=str(folder)))
        self.given: set[str | None] = set()
        self.leads_to: str | None = None
        self.url = f"http://127.0.0.1:{self.server_port}"


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[], Server]]:
    with ExitStack() as stack:
        yield lambda: stack.enter_context(serving(Server(tmp_path / "served")))


def publish(folder: Path, name: str, submodule: str | None = None) -> None:
    """Make a repository with one file, and one submodule, that servers serve."""
    work, served = folder / name, folder / "served" / f"{name}.git"
    served.parent.mkdir(exist_ok=True)
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    for who in ("AUTHOR", "COMMITTER"):
        environ |= {f"GIT_{who}_NAME": "Ada", f"GIT_{who}_EMAIL": "ada@example.org"}

    def git(*words: str) -> str:
        command = ["git", "-C", str(work), *words]
        done = subprocess.run(command, env=environ, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    work.mkdir()
    git("init", "--quiet", "--initial-branch", "main")
    (work / "file").write_text(name)
    git("add", "file")
    git("commit", "--quiet", "-m", "one")
    if submodule is not None:
        (work / ".gitmodules").write_text(f'[submodule "sub"]\n\tpath = sub\n\turl = {submodule}\n')
        git("add", ".gitmodules")
        commit = subprocess.run(
            ["git", "-C", str(folder / "sub"), "rev-parse", "HEAD"],
            env=environ,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        git("update-index", "--add", "--cacheinfo", f"160000,{commit},sub")
        git("commit", "--quiet", "-m", "two")
    git("clone", "--quiet", "--bare", ".", str(served))
    subprocess.run(["git", "update-server-info"], cwd=served, env=environ, check=True)


def environ_of(folder: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    found = {"PATH": os.environ["PATH"], "HOME": str(folder), "no_proxy": "*"}
    return {**found, **(more or {})}


def tree(location: GitLocation, folder: Path, more: Mapping[str, str] | None = None) -> GitTree:
    private = folder / "private"
    private.mkdir()
    entries = Entries(SECRETS)
    return GitTree(location, entries, environ_of(folder, more), private, Stop(), run_command)


def fetch(url: str, folder: Path) -> Path:
    target = folder / "target"
    tree(GitLocation(repository=url, user=USER, password=PASSWORD), folder).fetch(target)
    return target


@pytest.mark.parametrize("url", ["{server}/sub.git", "../sub.git", "{named}/sub.git"])
def test_a_submodule_of_the_same_server(
    url: str, serve: Callable[[], Server], tmp_path: Path
) -> None:
    server = serve()
    publish(tmp_path, "sub")
    named = server.url.replace("//", "//ada@")
    publish(tmp_path, "code", url.format(server=server.url, named=named))
    target = fetch(f"{server.url}/code.git", tmp_path)
    assert (target / "file").read_text() == "code"
    assert (target / "sub" / "file").read_text() == "sub"


@pytest.mark.parametrize(
    "name", ["", "ada@", "127.0.0.1%3a{port}%2f@", "a%40127.0.0.1%3a{port}%2f@"]
)
def test_a_submodule_of_another_server_gets_nothing(
    name: str, serve: Callable[[], Server], tmp_path: Path
) -> None:
    server, other = serve(), serve()
    publish(tmp_path, "sub")
    name = name.format(port=server.server_port)
    publish(tmp_path, "code", f"{other.url.replace('//', f'//{name}')}/sub.git")
    with pytest.raises(StoreError):
        fetch(f"{server.url}/code.git", tmp_path)
    assert BASIC in server.given
    assert other.given
    assert not any("TOPSECRET" in str(base64.b64decode(one[6:])) for one in other.given if one)


def test_a_server_that_a_redirect_leads_to_gets_nothing(
    serve: Callable[[], Server], tmp_path: Path
) -> None:
    server, other = serve(), serve()
    publish(tmp_path, "code")
    server.leads_to = other.url
    with pytest.raises(StoreError, match=f"could not read Username for '{other.url}'"):
        fetch(f"{server.url}/code.git", tmp_path)
    assert other.given == {None}


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Username for 'https://example.org': ", "ada"),
        ("Password for 'https://ada@example.org': ", "TOPSECRET"),
        ("Password for 'https://ada@mail.org@example.org': ", "TOPSECRET"),
        ("Password for 'https://example.org': ", "TOPSECRET"),
        ("Username for 'https://Example.org:443/a/b': ", "ada"),
        ("Password for 'https://ada@example.org/a/b': ", "TOPSECRET"),
        ("Username for 'http://example.org': ", ""),
        ("Username for 'https://example.org:8443': ", ""),
        ("Username for 'https://example.org.evil.org': ", ""),
        ("Password for 'https://example.org@evil.org': ", ""),
        ("Password for 'https://ada@example.org/@evil.org': ", ""),
        ("Password for 'https://ada@evil.org/@example.org': ", ""),
        ("Password for 'https://example.org/x@evil.org/y@example.org': ", ""),
        ("Password for 'cert:///home/key.pem': ", ""),
        ("Enter passphrase for key 'https://example.org': ", ""),
        ("Password", ""),
        ("", ""),
    ],
)
def test_questions_that_are_answered(question: str, answer: str, tmp_path: Path) -> None:
    url = "HTTPS://bob@example.org/code"
    environ = tree(GitLocation(repository=url, user=USER, password=PASSWORD), tmp_path)._environ()
    asked = subprocess.run(
        [environ["GIT_ASKPASS"], question], env=environ, capture_output=True, text=True, check=False
    )
    assert (asked.stdout, asked.returncode == 0) == (answer, answer != "")


@pytest.mark.parametrize("url", ["git@example.org:code", "ssh://example.org/code", "/code"])
def test_an_address_without_a_web_server_has_no_answers(url: str, tmp_path: Path) -> None:
    environ = tree(GitLocation(repository=url, user=USER, password=PASSWORD), tmp_path)._environ()
    for question in ("Username for '': ", "Username for '://': ", "Username for 'ssh://a': "):
        asked = subprocess.run([environ["GIT_ASKPASS"], question], env=environ, check=False)
        assert asked.returncode != 0


STRANGE = "a b; touch $HOME/here; $(touch here) `touch here` \"q\" 'p'"
"""The name of a folder that a shell would make something of."""


def test_a_folder_that_a_shell_would_read(tmp_path: Path) -> None:
    """A program in place of ssh tells what it is called with."""
    program, folder = tmp_path / "bin" / "ssh", tmp_path / STRANGE.replace("/", "")
    program.parent.mkdir()
    folder.mkdir()
    program.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" > {tmp_path}/words\nexit 1\n")
    program.chmod(0o755)
    location = GitLocation(
        repository="git@example.org:code", ssh_key=PASSWORD, insecure_ignore_host_key=True
    )
    path = {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    with pytest.raises(StoreError):
        tree(location, folder, path).fetch(folder / "target")
    words = (tmp_path / "words").read_text().splitlines()
    assert words[:3] == ["-i", f"{folder}/private/key", "-o"]
    assert {"IdentitiesOnly=yes", "UserKnownHostsFile=/dev/null", "BatchMode=yes"} < set(words)
    assert not list(tmp_path.rglob("here"))


def test_credentials_in_a_folder_that_a_shell_would_read(
    serve: Callable[[], Server], tmp_path: Path
) -> None:
    folder = tmp_path / STRANGE.replace("/", "")
    folder.mkdir()
    server = serve()
    publish(tmp_path, "code")
    assert (fetch(f"{server.url}/code.git", folder) / "file").read_text() == "code"
    assert not list(tmp_path.rglob("here"))
