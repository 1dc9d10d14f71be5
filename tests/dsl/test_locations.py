"""Files outside of a workflow as programs name them."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

import couler
from couler.dsl._context import ProgramError
from couler.dsl.locations import LocatedFile
from couler.ir import artifacts as ir
from couler.ir.storage import ConfigKey, SecretKey
from couler.ir.values import ParamRef, StepRef, Template
from couler.ir.verify import verify
from couler.ir.workflow import Input, Output, Step

KEY = SecretKey(secret="s", key="k")


def built(workflow: couler.Workflow) -> dict[str, Step]:
    assert workflow.diagnostics == ()
    found = workflow.to_ir()
    assert verify(found) == ()
    return {step.name: step for step in found.steps}


def copy(**fields: t.Any) -> couler.Value:
    return couler.run_container("busybox", ["true"], step_name="copy", **fields)


def taken(file: LocatedFile) -> Input:
    with couler.Workflow("w", day="monday") as wf:
        copy(input=file)
    [given] = built(wf)["copy"].inputs
    return given


def given_out(file: LocatedFile) -> Output:
    with couler.Workflow("w") as wf:
        copy(output=file)
    [output] = built(wf)["copy"].outputs
    return output


@pytest.mark.parametrize(
    ("file", "location"),
    [
        (couler.S3Artifact("/data/a.csv"), ir.S3Location(key="data/a.csv")),
        (
            couler.S3Artifact(
                "/a", KEY, KEY, "data", "k", "minio:9000", insecure=True, region="eu", ca=KEY
            ),
            ir.S3Location(
                key="k",
                bucket="data",
                endpoint="minio:9000",
                insecure=True,
                region="eu",
                access_key=KEY,
                secret_key=KEY,
                ca=KEY,
            ),
        ),
        (
            couler.S3Artifact("/a", key="k", bucket="b", secret="minio", encryption=True),
            ir.S3Location(
                key="k",
                bucket="b",
                access_key=SecretKey(secret="minio", key="accessKey"),
                secret_key=SecretKey(secret="minio", key="secretKey"),
                encryption=ir.Encryption(),
            ),
        ),
        (
            couler.OssArtifact("/a", KEY, KEY, "b", "k", "oss.example.org", delete_after_days=3),
            ir.OssLocation(
                key="k",
                bucket="b",
                endpoint="oss.example.org",
                access_key=KEY,
                secret_key=KEY,
                delete_after_days=3,
            ),
        ),
        (
            couler.GcsArtifact("/a", "b", "k", KEY),
            ir.GcsLocation(key="k", bucket="b", service_account_key=KEY),
        ),
        (
            couler.HdfsArtifact(
                "/a",
                ["n:8020"],
                user="hdfs",
                kerberos_cache=KEY,
                kerberos_config=ConfigKey(config_map="c", key="k"),
                kerberos_service="hdfs/_HOST",
            ),
            ir.HdfsLocation(
                path="/a",
                addresses=("n:8020",),
                user="hdfs",
                kerberos_cache=KEY,
                kerberos_config=ConfigKey(config_map="c", key="k"),
                kerberos_service="hdfs/_HOST",
            ),
        ),
        (
            couler.GitArtifact("/src", "https://a/b.git", "v1", depth=1, fetch=["refs/x"]),
            ir.GitLocation(repository="https://a/b.git", revision="v1", depth=1, fetch=("refs/x",)),
        ),
        (
            couler.AzureArtifact("/a", "c", "b", "https://x.blob.core.windows.net", KEY),
            ir.AzureLocation(
                container="c",
                blob="b",
                endpoint="https://x.blob.core.windows.net",
                account_key=KEY,
            ),
        ),
        (
            couler.HttpArtifact(
                "/a", "https://a/b", headers={"Accept": "x"}, user=KEY, password=KEY
            ),
            ir.HttpLocation(
                url="https://a/b",
                headers=(ir.HttpHeader(name="Accept", value="x"),),
                basic=ir.BasicAuth(user=KEY, password=KEY),
            ),
        ),
        (
            couler.HttpArtifact("/a", "https://a/b", oauth2=couler.OAuth2(KEY, KEY, KEY, ["r"])),
            ir.HttpLocation(
                url="https://a/b",
                oauth2=ir.OAuth2(client_id=KEY, client_secret=KEY, token_url=KEY, scopes=("r",)),
            ),
        ),
        (
            couler.ArtifactoryArtifact("/a", "https://a/b", KEY, KEY),
            ir.ArtifactoryLocation(url="https://a/b", user=KEY, password=KEY),
        ),
        (couler.RawArtifact("/a", data={"x": 1}), ir.RawLocation(content='{"x":1}')),
        (
            couler.PluginArtifact("/a", "mine", "k", "c: 1", timeout=3),
            ir.PluginLocation(name="mine", key="k", configuration="c: 1", timeout_s=3),
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_kind(file: LocatedFile, location: ir.Location) -> None:
    found = taken(file)
    assert found.at == location
    assert found.path == file.path
    assert found.type == ("directory" if isinstance(file, couler.GitArtifact) else "file")


def test_settings_of_files() -> None:
    found = taken(
        couler.S3Artifact(
            "/a", directory=True, archive="zip", optional=True, mode=0o750, recurse_mode=True
        )
    )
    assert found == Input(
        name="a",
        type="directory",
        path="/a",
        at=ir.S3Location(key="a"),
        archive=ir.Zip(),
        optional=True,
        mode=0o750,
        recurse_mode=True,
    )
    output = given_out(
        couler.S3Artifact(
            "/out/model.bin",
            key="m",
            archive="tar",
            compression_level=3,
            optional=True,
            removal=couler.FileRemoval("completion", service_account="r"),
        )
    )
    assert output == Output(
        name="model",
        type="file",
        path="/out/model.bin",
        at=ir.S3Location(key="m"),
        archive=ir.Tar(level=3),
        optional=True,
        removal=ir.FileRemoval(on="completion", service_account="r"),
    )


def test_credentials_given_as_text_become_a_secret_of_the_program() -> None:
    with couler.Workflow("w") as wf:
        for number, words in enumerate((("AK", "SK"), ("AK", "SK"), ("other", "SK"))):
            couler.run_container(
                "busybox",
                ["true"],
                step_name=f"s{number}",
                output=couler.S3Artifact("/a", *words, "data", f"k{number}"),
            )
    steps = built(wf)
    names = []
    for step in steps.values():
        at = step.outputs[0].at
        assert isinstance(at, ir.S3Location)
        assert at.access_key is not None
        names.append(at.access_key.secret)
    assert names == ["couler-s3-data", "couler-s3-data", "couler-s3-data-2"]
    found = wf.to_ir()
    assert "AK" not in found.model_dump_json()
    assert SecretKey(secret="couler-s3-data", key="accessKey") in found.secrets
    secret = wf._builder.secrets["couler-s3-data"]
    assert secret.reveal() == {"accessKey": "AK", "secretKey": "SK"}


def test_values_of_the_workflow_in_texts() -> None:
    with couler.Workflow("w", day="monday") as wf:
        key = couler.text("in/{day}", day=wf.params.day)
        first = copy(input=couler.S3Artifact("/a", key=key))
        couler.run_container(
            "busybox",
            ["true"],
            step_name="later",
            input=couler.HttpArtifact("/b", first, headers={"X-Day": wf.params.day}),
        )
    steps = built(wf)
    assert steps["copy"].inputs[0].at == ir.S3Location(
        key=Template(parts=("in/", ParamRef(name="day")))
    )
    at = steps["later"].inputs[0].at
    assert isinstance(at, ir.HttpLocation)
    assert at.url == StepRef(step="copy")
    assert at.headers[0].value == ParamRef(name="day")


def test_an_argument_of_a_typed_step_and_what_it_returns() -> None:
    @couler.step(keep=couler.S3Artifact(key="models/best"))
    def fit(data: couler.File, more: list[couler.File], code: couler.Directory) -> couler.File:
        return data

    with couler.Workflow("w") as wf:
        fit(
            couler.S3Artifact(key="a"),
            [couler.S3Artifact(key="b"), couler.RawArtifact(data="x")],
            couler.GitArtifact(repo="https://a/b"),
        )
    step = built(wf)["fit"]
    assert [(given.name, given.type) for given in step.inputs] == [
        ("data", "file"),
        ("more_0", "file"),
        ("more_1", "file"),
        ("code", "directory"),
    ]
    assert step.outputs[0].at == ir.S3Location(key="models/best")


def test_the_same_file_given_out_and_taken_in_is_an_edge() -> None:
    model = couler.S3Artifact("/model", key="m")

    @couler.step
    def use(model: couler.File) -> int:
        return 1

    with couler.Workflow("w") as wf:
        couler.run_container("busybox", ["true"], step_name="make", output=model)
        copy(input=model)
        couler.run_container("busybox", ["cat"], args=[model], step_name="show")
        use(model)
    steps = built(wf)
    for name in ("copy", "show", "use"):
        assert steps[name].inputs[0].value == StepRef(step="make", output="model")
    assert steps["copy"].inputs[0].path == "/model"


def test_a_file_keeps_the_names_that_a_program_gives_it() -> None:
    file = couler.S3Artifact("/s", key="k")
    with couler.Workflow("w") as wf:
        made = couler.run_container("busybox", ["true"], step_name="make", output=couler.File("l"))
        couler.run_container(
            "busybox", ["true"], args=[made], input={"a": made, "b": made}, step_name="read"
        )
        couler.run_script(
            source="pass", image="python", args=[file], input=file, step_name="script"
        )
    steps = built(wf)
    assert [one.name for one in steps["read"].inputs] == ["a", "b", "make"]
    assert [(one.name, one.path) for one in steps["script"].inputs] == [
        ("s", "/s"),
        ("arg_0", None),
    ]


def test_other_files_at_one_path_are_told() -> None:
    with couler.Workflow("w") as wf:
        copy(input=[couler.S3Artifact("/s", key="a"), couler.S3Artifact("/s", key="b")])
    assert [one.code for one in verify(wf.to_ir())] == ["CLR416"]


def test_settings_of_a_workflow_and_of_logs() -> None:
    settings = couler.FileSettings(
        "maps", "ours", couler.FileRemoval("deletion", force=True), keep_logs=True
    )
    with couler.Workflow("w", file_settings=settings) as wf:
        copy(keep_logs=couler.S3Artifact(bucket="logs", key="copy"))
        couler.run_container("busybox", ["true"], step_name="quiet", keep_logs=False)
    steps = built(wf)
    assert wf.to_ir().files == ir.FileSettings(
        repository=ir.RepositoryRef(config_map="maps", key="ours"),
        removal=ir.RunFileRemoval(on="deletion", force=True),
        keep_logs=True,
    )
    at = ir.S3Location(bucket="logs", key="copy")
    assert steps["copy"].logs == ir.LogSettings(at=at)
    assert steps["quiet"].logs == ir.LogSettings(keep=False)


@pytest.mark.parametrize(
    ("file", "told"),
    [
        (couler.S3Artifact(), "it needs a key"),
        (couler.S3Artifact("/a", archive=t.cast("t.Any", "rar")), "neither"),
        (couler.S3Artifact("/a", compression_level=3), 'archive="tar"'),
        (couler.S3Artifact("/a", KEY, secret="s", bucket="b"), "Leave one out"),
        (couler.S3Artifact("/a", mode=9999), "mode"),
        (couler.HttpArtifact("/a", "https://a/b", user=KEY), "go together"),
        (couler.GitArtifact("/a", "https://a/b", archive="tar"), "in none"),
        (couler.GcsArtifact("/a", bucket=t.cast("t.Any", 3)), "bucket"),
        (couler.HttpArtifact("/a"), "it needs url"),
        (couler.GitArtifact("/a"), "it needs repo"),
        (couler.RawArtifact("/a"), "it needs data"),
        (couler.ArtifactoryArtifact("/a", "https://a/b", "me"), "it needs password"),
        (couler.S3Artifact("/a", mode=600), "mode: 600 are no permissions; write them as in 0o600"),
        (couler.S3Artifact("/a", archive="tar", compression_level=12), "compression_level: 12"),
        (couler.S3Artifact("/a", directory=t.cast("t.Any", "yes")), "directory: 'yes'"),
        (couler.S3Artifact("/a", secret=t.cast("t.Any", KEY)), "is no name of a secret"),
        (couler.S3Artifact("/a", encryption=t.cast("t.Any", "aes")), "encryption: 'aes'"),
        (couler.S3Artifact("/a", ca=t.cast("t.Any", "-----BEGIN")), "ca: a value of type str"),
        (
            couler.S3Artifact("/a", encryption=couler.S3Encryption("k", {}, t.cast("t.Any", "x"))),
            "customer_key: a value of type str is not an entry of a secret",
        ),
        (couler.GcsArtifact("/a", "b", "k", t.cast("t.Any", {})), "service_account_key: a value"),
        (couler.OssArtifact("/a", key="k", security_token="t0ken"), "security_token: a text"),
        (couler.HdfsArtifact("/a", t.cast("t.Any", {1})), "addresses: {1} is no list of texts"),
        (couler.HdfsArtifact("/a", kerberos_cache=t.cast("t.Any", "x")), "kerberos_cache: a value"),
        (couler.HttpArtifact("/a", "https://a/b", headers=t.cast("t.Any", [])), "no dict"),
        (couler.HttpArtifact("/a", "https://a/b", headers={"A": None}), "one of them is None"),
        (couler.HttpArtifact("/a", "https://a/b", oauth2=t.cast("t.Any", {})), "couler.OAuth2"),
        (
            couler.HttpArtifact("/a", "https://a/b", oauth2=couler.OAuth2("id", KEY, KEY)),  # type: ignore[arg-type]
            "client_id: a value of type str",
        ),
        (couler.PluginArtifact("/a", "p", "k", "c", timeout=0), "timeout: "),
        (couler.S3Artifact("/a", removal="completion"), "what lies there stays"),
        (couler.S3Artifact("/a", KEY, bucket="b"), "accesskey_id and accesskey_secret go together"),
        (
            couler.OssArtifact("/a", accesskey_secret=KEY, bucket="b", endpoint="e"),
            "accesskey_id and accesskey_secret go together",
        ),
    ],
    ids=str,
)
def test_wrong_values_are_told_with_the_step(file: LocatedFile, told: str) -> None:
    with couler.Workflow("w") as wf:
        copy(input=file)
    [problem] = wf.diagnostics
    assert problem.code == "CLR105"
    assert problem.message.startswith('step "copy": input ')
    assert told in problem.message
    assert problem.source is not None
    assert problem.source.file.endswith("test_locations.py")


def test_where_a_storage_is_must_be_known_when_the_workflow_is_built() -> None:
    with couler.Workflow("w", title="x") as wf:
        title = wf.params.title
        copy(input=couler.S3Artifact("/a", bucket=t.cast("t.Any", title), key="k"))
        copy(input=couler.HdfsArtifact("/a", hdfs_path="/x", user=t.cast("t.Any", title)))
        copy(output=couler.GitArtifact("/a", repo=title, branch=t.cast("t.Any", title)))
    known = "must be known when the workflow is built, and <couler value title> is known only when"
    given = "it runs. Values of the workflow can be given as:"
    assert [problem.message.partition(": ")[2] for problem in wf.diagnostics] == [
        f"input a: the bucket {known} {given} key",
        f"input a: the user {known} {given} hdfs_path",
        f"output a: the branch {known} {given} repo, revision",
    ]


@pytest.mark.parametrize("path", ["", " "])
def test_an_empty_path_is_refused(path: str) -> None:
    file = couler.S3Artifact(path, key="k")

    @couler.step
    def use(model: couler.File) -> int:
        return 1

    with couler.Workflow("w") as wf:
        copy(input=file)
        couler.run_container("busybox", ["cat", file], step_name="word")
        use(file)
        copy(output={"model": file})
    told = "its path is empty. Say where the file is in the step, or leave it out"
    assert [problem.message for problem in wf.diagnostics] == [
        f'step "copy": input data: {told}',
        f"input data: {told}",
        f'step "use": input model: {told}',
        'step "copy": output model: it needs a path, at which the process writes it',
    ]
    assert verify(wf.to_ir()) == ()


def test_removal_is_one_of_three() -> None:
    never = t.cast("t.Any", "always")
    with couler.Workflow("w", file_settings=couler.FileSettings(removal=never)) as wf:
        copy(output=couler.S3Artifact("/a", removal=never))
        copy(output=couler.S3Artifact("/b", removal=couler.FileRemoval(never)))
    told = "removal: 'always' is none of 'completion', 'deletion', 'never'"
    assert [problem.message for problem in wf.diagnostics] == [
        f"file_settings: {told}",
        f'step "copy": output a: {told}',
        f'step "copy": output b: {told}',
    ]


def test_one_text_where_a_list_of_them_can_be() -> None:
    at = taken(couler.GitArtifact("/a", "https://a/b", fetch="refs/x")).at
    assert isinstance(at, ir.GitLocation)
    assert at.fetch == ("refs/x",)
    at = taken(couler.HdfsArtifact("/a", "n:8020", user="u")).at
    assert isinstance(at, ir.HdfsLocation)
    assert at.addresses == ("n:8020",)
    oauth2 = couler.OAuth2(KEY, KEY, KEY, "read")
    at = taken(couler.HttpArtifact("/a", "https://a/b", oauth2=oauth2)).at
    assert isinstance(at, ir.HttpLocation)
    assert at.oauth2 is not None
    assert at.oauth2.scopes == ("read",)


def test_paths_of_pathlib() -> None:
    assert taken(couler.S3Artifact(Path("/data/a"))).path == "/data/a"
    with pytest.raises(ProgramError, match="its path is 3, which is no path of a file"):
        couler.S3Artifact(t.cast("t.Any", 3))


def test_wrong_uses() -> None:
    @couler.step(keep=couler.S3Artifact(key="k"))
    def number() -> int:
        return 1

    @couler.step
    def takes(n: int) -> None: ...

    with couler.Workflow("w") as wf:
        number()
        takes(t.cast("t.Any", couler.S3Artifact(key="a")))
        copy(output=couler.S3Artifact(key="a"))
        copy(output=couler.S3Artifact("/a", mode=0o600))
    codes = [problem.code for problem in wf.diagnostics]
    assert codes == ["CLR105", "CLR107", "CLR105", "CLR105"]
