"""Rules for files outside of a workflow."""

from __future__ import annotations

import typing as t

import pytest

from couler.ir.artifacts import (
    ArtifactoryLocation,
    AzureLocation,
    BasicAuth,
    Encryption,
    FileRemoval,
    GcsLocation,
    GitLocation,
    HdfsLocation,
    HttpHeader,
    HttpLocation,
    LogSettings,
    OAuth2,
    OssLocation,
    PluginLocation,
    RawLocation,
    S3Location,
    Tar,
)
from couler.ir.base import FrozenDict
from couler.ir.storage import SecretKey
from couler.ir.values import Literal, ParamRef, StepRef, Template
from couler.ir.verify import verify
from couler.ir.workflow import Group, Http, Input, Output, Parameter, Step, Workflow
from tests.support.file_samples import FILE_SAMPLES, process

KEY = SecretKey(secret="s", key="k")
S3 = S3Location(key="a")


def codes(*steps: Step, **fields: t.Any) -> list[str]:
    return [problem.code for problem in verify(Workflow(name="w", steps=steps, **fields))]


def takes(**fields: t.Any) -> list[str]:
    return codes(process("a", inputs=(Input(**{"name": "x", "type": "file", **fields}),)))


def gives(**fields: t.Any) -> list[str]:
    output = Output(**{"name": "x", "type": "file", "path": "x", **fields})
    return codes(process("a", outputs=(output,)))


def test_samples_are_valid() -> None:
    assert [name for name, workflow in FILE_SAMPLES.items() if verify(workflow)] == []


def test_an_input_has_one_source() -> None:
    assert takes() == ["CLR460"]
    assert "CLR460" in takes(at=S3, value=Literal(value="x"))


INCOMPLETE = (
    S3Location(key="/a"),
    S3Location(key=""),
    S3Location(key="a/../b"),
    S3Location(key="a", region="eu"),
    S3Location(key="a", bucket="b", access_key=KEY),
    S3Location(key="a", bucket="b", endpoint="https://s3.example.org"),
    S3Location(key="a", bucket="b", object_locking=True),
    S3Location(key="a", bucket="b", encryption=Encryption(kms_key="k", customer_key=KEY)),
    OssLocation(key="a", bucket="b"),
    OssLocation(key="a", security_token=ParamRef(name="t")),
    OssLocation(key="a", bucket="b", endpoint="e", security_token=Literal(value="t")),
    HdfsLocation(path="a", addresses=("n:1",), user="u"),
    HdfsLocation(path="/a", addresses=("n",), user="u"),
    HdfsLocation(path="/a", addresses=("n:1",)),
    HdfsLocation(path="/a", addresses=("n:1",), kerberos_keytab=KEY),
    HdfsLocation(path="/a", addresses=("n:1",), kerberos_cache=KEY),
    HdfsLocation(path="/a"),
    AzureLocation(blob="a", container="c"),
    AzureLocation(blob="a", container="c", endpoint="account"),
    HttpLocation(url="example.org"),
    HttpLocation(
        url="https://example.org",
        basic=BasicAuth(user=KEY, password=KEY),
        oauth2=OAuth2(client_id=KEY, client_secret=KEY, token_url=KEY),
    ),
    ArtifactoryLocation(url="ftp://example.org", user=KEY, password=KEY),
    RawLocation(content=""),
    PluginLocation(key="a", name="p"),
    PluginLocation(key="a"),
    S3Location(key="s3://data/a.csv"),
    S3Location(key="a\nb"),
    S3Location(key="a", bucket="s3://data"),
    S3Location(key="a", bucket="data/in"),
    S3Location(key="a", bucket="my data"),
    S3Location(key="a", bucket="-data"),
    S3Location(key="a", bucket="a..b"),
    S3Location(key="a", bucket="data", region="eu central"),
    S3Location(key="a", bucket="data", endpoint="minio:9000/data"),
    S3Location(key="a", bucket="data", endpoint=""),
    S3Location(key="a", bucket="data", role_arn="reader"),
    S3Location(key="a", bucket="data", session_token=KEY),
    S3Location(
        key="a", bucket="data", access_key=KEY, secret_key=KEY, role_arn="arn:aws:iam::1:role/r"
    ),
    S3Location(key="a", bucket="b", encryption=Encryption(kms_context=FrozenDict(a="b"))),
    OssLocation(key="a", bucket="b", endpoint="e", security_token=ParamRef(name="t")),
    OssLocation(key="a", bucket="my bucket", endpoint="e"),
    OssLocation(key="a", bucket="b", endpoint="http://"),
    GcsLocation(key="gs://data/a"),
    GcsLocation(key="a", bucket="gs://data"),
    AzureLocation(blob="a", container="c/d", endpoint="https://x.blob.core.windows.net"),
    HttpLocation(url="https://example.org/a b"),
    HttpLocation(url="https:///a"),
)


def test_locations_that_are_not_complete() -> None:
    for location in INCOMPLETE:
        assert "CLR461" in takes(at=location), location


@pytest.mark.parametrize(
    "location",
    [
        GitLocation(repository=""),
        GitLocation(repository="--upload-pack=x"),
        GitLocation(repository="https://a/b", revision="--x"),
        GitLocation(repository="https://a/b", branch=""),
        GitLocation(repository="https://a/b", user=KEY),
        GitLocation(repository="https://a/b", user=KEY, password=KEY, ssh_key=KEY),
    ],
    ids=repr,
)
def test_a_repository_that_is_not_complete(location: GitLocation) -> None:
    assert set(takes(type="directory", at=location)) == {"CLR461"}


TOKEN_HEADER = HttpHeader(name="authorization", value="Bearer abc")


@pytest.mark.parametrize(
    "location",
    [
        HttpLocation(url="https://ada:hunter2@example.org/a"),
        HttpLocation(
            url=Template(parts=("https://ada:", ParamRef(name="p"), "@example.org/hunter2"))
        ),
        HttpLocation(url="https://example.org/hunter2", headers=(TOKEN_HEADER,)),
        HttpLocation(
            url="https://example.org/a",
            oauth2=OAuth2(
                client_id=KEY,
                client_secret=KEY,
                token_url=KEY,
                parameters=FrozenDict(client_secret="hunter2"),
            ),
        ),
        ArtifactoryLocation(url="https://ada:hunter2@example.org/a", user=KEY, password=KEY),
        AzureLocation(blob="a", container="c", endpoint="https://x.example.org?sig=hunter2"),
        S3Location(key="a", bucket="b", endpoint="ada:hunter2@minio:9000"),
        OssLocation(key="a", bucket="b", endpoint="https://ada:hunter2@oss.example.org"),
        GitLocation(repository="https://ada:hunter2@example.org/a.git"),
        GitLocation(repository="https://ghp_hunter2@example.org/a.git"),
        GitLocation(repository="ssh://git:hunter2@example.org/a.git"),
    ],
    ids=lambda location: type(location).__name__,
)
def test_no_credential_is_a_text(location: t.Any) -> None:
    kind = "directory" if isinstance(location, GitLocation) else "file"
    step = process("a", inputs=(Input(name="x", type=kind, at=location),))
    parameters = (Parameter(name="p", default=""),)
    found = verify(Workflow(name="w", steps=(step,), parameters=parameters))
    assert "CLR467" in [problem.code for problem in found]
    assert all("hunter2@" not in problem.message for problem in found)


@pytest.mark.parametrize(
    "location",
    [
        GitLocation(repository="git@example.org:a.git"),
        GitLocation(repository="ssh://git@example.org:22/a.git"),
        GitLocation(repository="https://org@dev.azure.com/org/a"),
        HttpLocation(url="https://example.org/a:b@c?x=//d:e@f"),
        HttpLocation(
            url="https://example.org",
            headers=(HttpHeader(name="Authorization", value=ParamRef(name="p")),),
        ),
        S3Location(key="a:b@c", bucket="data", endpoint="[::1]:9000"),
    ],
    ids=repr,
)
def test_what_only_looks_like_a_credential(location: t.Any) -> None:
    kind = "directory" if isinstance(location, GitLocation) else "file"
    step = process("a", inputs=(Input(name="x", type=kind, at=location),))
    parameters = (Parameter(name="p", default=""),)
    assert verify(Workflow(name="w", steps=(step,), parameters=parameters)) == ()


def test_a_password_in_the_url_of_a_request() -> None:
    ask = Http(url="https://ada:hunter2@example.org/a")
    [problem] = verify(Workflow(name="w", steps=(Step(name="ask", action=ask),)))
    assert problem.code == "CLR467"
    assert "hunter2" not in problem.message


@pytest.mark.parametrize("path", ["../x", "a/../b", "/data/../x", "..", "", "/"])
def test_paths_that_lead_up_or_nowhere(path: str) -> None:
    assert takes(at=S3, path=path) == ["CLR415"]
    assert gives(path=path) == ["CLR415"]


@pytest.mark.parametrize("path", ["a..b", ".x", "/data/...", "a/b/"])
def test_paths_with_dots(path: str) -> None:
    assert takes(at=S3, path=path) == gives(path=path) == []


def test_names_of_secrets() -> None:
    key = SecretKey(secret="No Secret", key="k")
    assert takes(at=S3Location(key="a", bucket="b", access_key=key, secret_key=key)) == ["CLR411"]


def test_settings_that_a_file_taken_in_cannot_have() -> None:
    for fields in (
        {"type": "str", "at": S3},
        {"at": S3, "many": True},
        {"at": S3, "recurse_mode": True},
        {"at": GitLocation(repository="https://a/b")},
        {"type": "directory", "at": RawLocation(content="x")},
    ):
        assert "CLR462" in takes(**fields), fields
    group = Step(
        name="g",
        action=Group(steps=(process("a"),)),
        inputs=(Input(name="x", type="file", at=S3),),
    )
    assert codes(group) == ["CLR462"]


def test_settings_that_a_file_given_out_cannot_have() -> None:
    for fields in (
        {"type": "str", "at": S3},
        {"archive": Tar()},
        {"at": RawLocation(content="x")},
        {"at": GitLocation(repository="https://a/b")},
        {"type": "directory", "at": HttpLocation(url="https://a/b")},
        {"at": HttpLocation(url="https://a/b"), "removal": FileRemoval(on="completion")},
    ):
        assert gives(**fields) == ["CLR462"], fields
    assert gives(at=HttpLocation(url="https://a/b"), removal=FileRemoval(on="never")) == []
    assert codes(process("a", logs=LogSettings(keep=False, at=S3))) == ["CLR462"]


def test_a_file_that_need_not_be_there() -> None:
    write = process("a", outputs=(Output(name="x", type="file", path="x", optional=True),))
    x = StepRef(step="a", output="x")

    def read(**fields: t.Any) -> Step:
        return process("b", inputs=(Input(name="x", type="file", value=x, **fields),))

    assert codes(write, read(optional=True)) == []
    assert codes(write, read()) == ["CLR463"]
    shown = Output(name="o", type="file", value=x)
    assert codes(write, outputs=(shown,)) == ["CLR463"]
    group = Step(
        name="g",
        action=Group(
            steps=(process("c", inputs=(Input(name="y", type="file", value=ParamRef(name="y")),)),)
        ),
        inputs=(Input(name="y", type="file", value=x),),
    )
    assert codes(write, group) == ["CLR463"]


@pytest.mark.parametrize(
    "location",
    [GcsLocation(key="a"), OssLocation(key="a"), AzureLocation(blob="a"), HdfsLocation(path="a")],
)
def test_a_storage_that_is_not_named_is_warned_of(location: t.Any) -> None:
    given = Input(name="data", type="file", at=location)
    [problem] = verify(Workflow(name="w", steps=(process("a", inputs=(given,)),)))
    assert (problem.code, problem.severity) == ("CLR469", "warning")
    assert location.kind in problem.message
