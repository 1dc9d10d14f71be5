"""Files outside of the workflow, really fetched and put: S3, HTTP, Git and the repository here."""

from __future__ import annotations

import base64
import http.server
import json
import os
import subprocess
import typing as t
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.backends.local.locations import require_reach
from couler.errors import ConfigurationError
from couler.ir.artifacts import (
    ArtifactoryLocation,
    BasicAuth,
    Encryption,
    GcsLocation,
    GitLocation,
    HdfsLocation,
    HttpHeader,
    HttpLocation,
    ListFiles,
    Location,
    OAuth2,
    OssLocation,
    S3Location,
    Tar,
)
from couler.ir.policies import Backoff, Cache, Retry
from couler.ir.storage import SecretKey
from couler.ir.values import ParamRef
from couler.ir.workflow import Input, Output, Parameter, Step, Workflow
from couler.locations.secrets import Entries
from couler.state.results import RunResult
from tests.corpus.build import flow, sh
from tests.support.http_server import QuietHandler, serving

SECRETS = {
    "COULER_SECRET_s3_access": "test",
    "COULER_SECRET_s3_secret": "test-secret-key",
    "COULER_SECRET_web_user": "ada",
    "COULER_SECRET_web_password": "hunter2222",
}


def key(secret: str, name: str) -> SecretKey:
    return SecretKey(secret=secret, key=name)


Run = t.Callable[..., RunResult]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a workflow on this machine, its runs kept below the test's folder."""

    def run_workflow(
        workflow: Workflow, environ: Mapping[str, str] | None = None, **parameters: object
    ) -> RunResult:
        return LocalBackend().run(
            workflow,
            parameters=parameters,
            options=RunOptions(home=tmp_path / "home", jobs=2),
            environ={**os.environ, **SECRETS, **(environ or {})},
        )

    return run_workflow


def reads(
    location: Location, *, type: t.Literal["file", "directory"] = "file", **fields: t.Any
) -> Step:
    return sh(
        "read",
        fields.pop("script", 'cat "$COULER_INPUT_data"'),
        inputs=[Input(name="data", type=type, at=location, **fields.pop("given", {}))],
        **fields,
    )


def result_of(ended: RunResult, path: str = "read") -> object:
    assert ended.status == "succeeded", {p: s.message for p, s in ended.steps.items()}
    return ended.steps[path].outputs["result"]


# S3 -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """Host and port of a server that speaks S3, with the bucket `data`."""
    import s3fs
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    filesystem = s3fs.S3FileSystem(
        key="test",
        secret="test",
        endpoint_url=f"http://{host}:{port}",
        client_kwargs={"region_name": "us-east-1"},
    )
    filesystem.call_s3("create_bucket", Bucket="data")
    filesystem.pipe_file("data/in/one.csv", b"1\n")
    filesystem.pipe_file("data/in/deep/two.csv", b"2\n")
    yield f"{host}:{port}"
    server.stop()


def s3(endpoint: str, name: str, **fields: t.Any) -> S3Location:
    return S3Location(
        key=name,
        bucket=fields.pop("bucket", "data"),
        endpoint=endpoint,
        insecure=True,
        region="us-east-1",
        access_key=key("s3", "access"),
        secret_key=key("s3", "secret"),
        **fields,
    )


def test_an_object_of_s3_and_all_below_a_prefix(run: Run, endpoint: str) -> None:
    assert result_of(run(flow("w", reads(s3(endpoint, "in/one.csv"))))) == "1"
    script = 'cd "$COULER_INPUT_data" && cat one.csv deep/two.csv'
    folder = reads(s3(endpoint, "in"), type="directory", script=script)
    assert result_of(run(flow("w", folder))) == "1\n2"


def lists(location: Location, pattern: str | None = None, **fields: t.Any) -> Step:
    action = ListFiles(at=location, pattern=pattern)
    return Step(name="read", action=action, outputs=(Output(type="list"),), **fields)


def test_a_value_leads_no_list_out_of_the_repository(run: Run) -> None:
    where = flow(
        "w",
        lists(S3Location(key=ParamRef(name="key"))),
        parameters=(Parameter(name="key", required=True),),
    )
    for key in ("../..", "/etc", "a/../../b", ""):
        ended = run(where, key=key)
        assert ended.status == "failed"
        assert "is no key" in str(ended.steps["read"].message), key


def test_what_s3_does_not_have(run: Run, endpoint: str) -> None:
    ended = run(flow("w", reads(s3(endpoint, "in/none.csv"))))
    assert ended.status == "failed"
    assert "there is nothing at s3://data/in/none.csv" in str(ended.steps["read"].message)
    script = 'test -e "$COULER_INPUT_data" || echo none'
    optional = reads(s3(endpoint, "in/none.csv"), script=script, given={"optional": True})
    assert result_of(run(flow("w", optional))) == "none"


def test_a_file_is_put_into_a_bucket_that_is_made(run: Run, endpoint: str) -> None:
    place = s3(endpoint, "out/model", bucket="made", create_bucket=True, encryption=Encryption())
    make = sh(
        "make",
        'mkdir -p "$COULER_WORK/m/deep"; echo x > "$COULER_WORK/m/deep/y"',
        outputs=[Output(name="m", type="directory", path="m", at=place, archive=Tar(level=1))],
    )
    read = reads(
        place,
        type="directory",
        script='cat "$COULER_INPUT_data/deep/y"',
        given={"archive": Tar()},
        depends_on=["make"],
    )
    assert result_of(run(flow("w", make, read))) == "x"


def test_a_role_is_assumed(run: Run, endpoint: str) -> None:
    """At the store's own address, with the credentials of this machine."""
    role = "arn:aws:iam::123456789012:role/reader"
    place = S3Location(
        key="in/one.csv", bucket="data", endpoint=endpoint, insecure=True, role_arn=role
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("AWS_ENDPOINT_URL_STS", raising=False)
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test-secret-key")
        assert result_of(run(flow("w", reads(place)))) == "1"
        patch.setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:9")
        patch.setenv("AWS_MAX_ATTEMPTS", "1")
        ended = run(flow("w", reads(place)))
    assert f"the role {role}: Could not connect" in str(ended.steps["read"].message)


def test_a_server_that_is_not_there(run: Run) -> None:
    retry = Retry(limit=1, on=("error",), backoff=Backoff(seconds=0.01, factor=1))
    step = reads(s3("127.0.0.1:9", "in/one.csv"), retry=retry)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_MAX_ATTEMPTS", "1")
        ended = run(flow("w", step))
    assert ended.status == "failed"
    assert ended.steps["read"].attempts == 2  # it could not start, which is an error
    assert "s3://data/in/one.csv" in str(ended.steps["read"].message)


def test_a_secret_that_is_missing_is_told_before_the_run(tmp_path: Path, endpoint: str) -> None:
    with pytest.raises(ConfigurationError, match="COULER_SECRET_s3_access"):
        LocalBackend().run(
            flow("w", reads(s3(endpoint, "in/one.csv"))),
            options=RunOptions(home=tmp_path),
            environ={},
        )


# the web ------------------------------------------------------------------------------------------


class Site(http.server.ThreadingHTTPServer):
    """Keeps what is put, and what it was asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {"/a.csv": b"1,2\n"}
        self.asked: list[tuple[str, str, str | None, str | None]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(QuietHandler):
    server: Site

    def _note(self) -> None:
        headers = self.headers
        self.server.asked.append(
            (self.command, self.path, headers["Authorization"], headers["X-Day"])
        )

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers["Content-Length"] or 0))

    def do_GET(self) -> None:  # noqa: N802 - a name of the base class
        self._note()
        content = self.server.files.get(self.path)
        self.send_response(404 if content is None else 200)
        self.end_headers()
        self.wfile.write(content or b"")

    def do_PUT(self) -> None:  # noqa: N802 - a name of the base class
        self._note()
        self.server.files[self.path] = self._body()
        self.send_response(201)
        self.end_headers()

    def do_POST(self) -> None:  # noqa: N802 - a name of the base class
        self._note()
        self.server.files["/form"] = self._body()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"access_token": "tkn"}).encode())


@pytest.fixture
def site() -> Iterator[Site]:
    with serving(Site()) as site:
        yield site


BASIC = f"Basic {base64.b64encode(b'ada:hunter2222').decode()}"


def test_a_url_is_got_and_put(run: Run, site: Site) -> None:
    basic = BasicAuth(user=key("web", "user"), password=key("web", "password"))
    headers = (HttpHeader(name="X-Day", value=ParamRef(name="day")),)
    step = sh(
        "read",
        'cat "$COULER_INPUT_data"; echo new > "$COULER_WORK/out"; echo $((1111*2)) hunter2222',
        inputs=[
            Input(
                name="data",
                type="file",
                at=HttpLocation(url=f"{site.url}/a.csv", basic=basic, headers=headers),
            )
        ],
        outputs=[
            Output(
                name="out",
                type="file",
                path="out",
                at=ArtifactoryLocation(
                    url=f"{site.url}/b", user=key("web", "user"), password=key("web", "password")
                ),
            )
        ],
    )
    ended = run(flow("w", step, parameters=[Parameter(name="day", default="monday")]))
    assert str(result_of(ended)).startswith("1,2\n")
    assert site.files["/b"] == b"new\n"
    assert site.asked == [("GET", "/a.csv", BASIC, "monday"), ("PUT", "/b", BASIC, None)]
    log = ended.steps["read"].log
    assert log is not None
    assert "hunter2222" not in log.read_text()


def test_a_token_is_asked_for(run: Run, site: Site) -> None:
    oauth2 = OAuth2(
        client_id=key("web", "user"),
        client_secret=key("web", "password"),
        token_url=key("web", "token"),
        scopes=("read", "write"),
    )
    step = reads(HttpLocation(url=f"{site.url}/a.csv", oauth2=oauth2))
    environ = {"COULER_SECRET_web_token": f"{site.url}/token"}
    assert result_of(run(flow("w", step), environ)) == "1,2"
    assert site.files["/form"] == b"grant_type=client_credentials&scope=read+write"
    assert site.asked[-1] == ("GET", "/a.csv", "Bearer tkn", None)


# Git ----------------------------------------------------------------------------------------------


@pytest.fixture
def repository(tmp_path: Path) -> Callable[..., str]:
    """Git in a repository of this machine: ``repository("tag", "v1")``; its path comes back."""
    folder = tmp_path / "code"
    folder.mkdir()

    def git(*words: str) -> str:
        environ = {
            **os.environ,
            **{f"GIT_{who}_NAME": "Ada" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "ada@example.org" for who in ("AUTHOR", "COMMITTER")},
        }
        subprocess.run(["git", *words], cwd=folder, env=environ, check=True, capture_output=True)
        return str(folder)

    git("init", "--quiet", "--initial-branch", "main")
    for number in ("one", "two"):
        (folder / "file").write_text(number)
        git("add", "file")
        git("commit", "--quiet", "-m", number)
        git("tag", number)
    return git


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "two"),
        ({"revision": "one"}, "one"),
        ({"revision": "one", "depth": 1, "branch": "main"}, "one"),
        ({"branch": "main", "depth": 1}, "two"),
    ],
)
def test_a_working_tree(
    run: Run, repository: Callable[..., str], fields: dict[str, t.Any], expected: str
) -> None:
    place = GitLocation(repository=f"file://{repository('status')}", **fields)
    step = reads(place, type="directory", script='cat "$COULER_INPUT_data/file"')
    assert result_of(run(flow("w", step))) == expected


# the repository, reuse ----------------------------------------------------------------------------


def put(home: Path, name: str, content: str) -> Path:
    file = home / "repository" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
    return file


def test_what_the_cache_has_is_put_where_the_step_keeps_it(run: Run, tmp_path: Path) -> None:
    home = tmp_path / "home"
    step = sh(
        "make",
        'echo good > "$COULER_WORK/m"',
        cache=Cache(),
        outputs=[Output(name="m", type="file", path="m", at=S3Location(key="models/m"))],
    )
    kept = home / "repository" / "models" / "m"
    assert run(flow("w", step)).steps["make"].status == "succeeded"
    kept.unlink()
    assert run(flow("w", step)).steps["make"].status == "cached"
    assert kept.read_text() == "good\n"


def test_a_key_does_not_lead_out_of_the_repository(run: Run, tmp_path: Path) -> None:
    put(tmp_path / "home", "in", "1")
    (tmp_path / "home" / "secret").write_text("x")
    step = reads(S3Location(key=ParamRef(name="key")))
    workflow = flow("w", step, parameters=[Parameter(name="key", default="in")])
    assert result_of(run(workflow)) == "1"
    for hostile in ("../secret", "/etc/passwd", "a/../../secret", ""):
        ended = run(workflow, key=hostile)
        assert ended.status == "failed"
        assert "is no key" in str(ended.steps["read"].message)


def test_permissions_of_all_that_is_in_a_folder(run: Run, tmp_path: Path) -> None:
    put(tmp_path / "home", "in/one", "1")
    script = 'stat -c %a "$COULER_INPUT_data" "$COULER_INPUT_data/one"'
    given = {"mode": 0o750, "recurse_mode": True}
    step = reads(S3Location(key="in"), type="directory", script=script, given=given)
    assert result_of(run(flow("w", step))) == "750\n750"


# what is missing ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("location", "package"),
    [
        (OssLocation(key="a", bucket="b", endpoint="e"), "ossfs"),
        (GcsLocation(key="a", bucket="b"), "gcsfs"),
        (HdfsLocation(path="/a", addresses=("n:1",), user="u"), "pyarrow"),
    ],
)
def test_a_missing_package_is_told_before_the_run(location: Location, package: str) -> None:
    workflow, entries = flow("w", reads(location)), Entries({})
    with pytest.raises(ConfigurationError, match=f"pip install '{package}'$"):
        require_reach(workflow, entries, has_module=lambda name: False)
    require_reach(workflow, entries, has_module=lambda name: True)
    in_repository = flow("w", reads(type(location).model_validate(_text_of(location))))
    require_reach(in_repository, entries, has_module=lambda name: False)


def test_missing_credentials_of_oss_are_told_before_the_run() -> None:
    location = OssLocation(key="a", bucket="b", endpoint="e", use_sdk_credentials=True)
    workflow = flow("w", reads(location))
    with pytest.raises(ConfigurationError, match="Set ALIBABA_CLOUD_ACCESS_KEY_ID"):
        require_reach(workflow, Entries({}), has_module=lambda name: True)
    known = {"ALIBABA_CLOUD_ACCESS_KEY_ID": "a", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "b"}
    require_reach(workflow, Entries(known), has_module=lambda name: True)


def _text_of(location: Location) -> dict[str, object]:
    return {"path" if isinstance(location, HdfsLocation) else "key": "a"}
