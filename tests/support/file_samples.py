"""Workflows with files outside of them: every kind of location, with all that it can say."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from couler.ir.artifacts import (
    ArtifactoryLocation,
    AzureLocation,
    BasicAuth,
    ClientCertificate,
    Encryption,
    FileRemoval,
    FileSettings,
    GcsLocation,
    GitLocation,
    HdfsLocation,
    HttpHeader,
    HttpLocation,
    ListFiles,
    Location,
    LogSettings,
    OAuth2,
    OssLocation,
    PluginLocation,
    RawLocation,
    RepositoryRef,
    RunFileRemoval,
    S3Location,
    Tar,
    Zip,
)
from couler.ir.base import FrozenDict
from couler.ir.storage import ConfigKey, SecretKey
from couler.ir.values import ParamRef, RunRef, StepRef, Template
from couler.ir.workflow import Container, Input, Output, Parameter, Step, Workflow

_DAY = Template(parts=("data/", ParamRef(name="day"), ".csv"))


def secret(key: str) -> SecretKey:
    """An entry of a secret."""
    return SecretKey(secret="storage", key=key)


def process(name: str, **fields: t.Any) -> Step:
    """A step that runs a container."""
    return Step(name=name, action=Container(image="alpine:3", command=("true",)), **fields)


def flow(*steps: Step, **fields: t.Any) -> Workflow:
    """A workflow with the parameter `day`."""
    return Workflow(
        name="files", parameters=(Parameter(name="day", default="monday"),), steps=steps, **fields
    )


def takes(location: Location, kind: t.Literal["file", "directory"] = "file") -> Workflow:
    """A workflow whose step takes in what is at a location."""
    return flow(process("a", inputs=(Input(name="data", type=kind, at=location),)))


def gives(location: Location, **fields: t.Any) -> Workflow:
    """A workflow whose step puts a file at a location."""
    output = Output(name="model", type="file", path="model.bin", at=location, **fields)
    return flow(process("a", outputs=(output,)))


S3 = S3Location(
    key=_DAY,
    bucket="data",
    endpoint="minio:9000",
    region="eu-central-1",
    insecure=True,
    access_key=secret("access"),
    secret_key=secret("secret"),
    session_token=secret("token"),
    use_sdk_credentials=False,
    ca=secret("ca"),
    create_bucket=True,
    object_locking=True,
    encryption=Encryption(kms_key="key-1", kms_context=FrozenDict(project="a")),
)
OSS = OssLocation(
    key="data/train.csv",
    bucket="data",
    endpoint="oss-eu-central-1.aliyuncs.com",
    access_key=secret("access"),
    secret_key=secret("secret"),
    security_token=ParamRef(name="day"),
    use_sdk_credentials=False,
    create_bucket=True,
    delete_after_days=30,
    infrequent_access_after_days=7,
)
HDFS = HdfsLocation(
    path="/data/train.csv",
    addresses=("namenode:8020", "other:8020"),
    user="hdfs",
    force=True,
    data_transfer_protection="privacy",
    kerberos_cache=secret("cache"),
    kerberos_config=ConfigKey(config_map="kerberos", key="krb5.conf"),
    kerberos_service="hdfs/_HOST",
)
HDFS_KEYTAB = HdfsLocation(
    path="/data/train.csv",
    addresses=("namenode:8020",),
    kerberos_keytab=secret("keytab"),
    kerberos_user="reader",
    kerberos_realm="EXAMPLE.ORG",
    kerberos_config=ConfigKey(config_map="kerberos", key="krb5.conf", optional=True),
    kerberos_service="hdfs/_HOST",
)
GIT = GitLocation(
    repository="https://example.org/code.git",
    revision=ParamRef(name="day"),
    branch="main",
    depth=1,
    fetch=("refs/meta/*",),
    submodules=False,
    user=secret("user"),
    password=secret("password"),
    insecure_ignore_host_key=True,
    insecure_skip_tls=True,
)
AZURE = AzureLocation(
    blob="data/train.csv",
    container="data",
    endpoint="https://account.blob.core.windows.net",
    account_key=secret("account"),
    use_sdk_credentials=False,
)
HTTP = HttpLocation(
    url="https://example.org/train.csv",
    headers=(HttpHeader(name="Accept", value="text/csv"), HttpHeader(name="X-Day", value=_DAY)),
    basic=BasicAuth(user=secret("user"), password=secret("password")),
)
ARTIFACTORY = ArtifactoryLocation(
    url="https://artifactory.example.org/data/train.csv",
    user=secret("user"),
    password=secret("password"),
)
RAW = RawLocation(content="a,b\n1,2\n")
PLUGIN = PluginLocation(key="data/train.csv", name="mine", configuration="fast: true", timeout_s=5)
GCS = GcsLocation(
    key=Template(parts=("runs/", RunRef(field="id"))),
    bucket="data",
    service_account_key=secret("account.json"),
)


def lists(location: Location) -> Workflow:
    """A workflow whose step lists the files below a location."""
    action = ListFiles(at=location, pattern="**/*.csv")
    return flow(Step(name="a", action=action, outputs=(Output(type="list"),)))


FILE_SAMPLES: Mapping[str, Workflow] = {
    "list-of-s3": lists(S3Location(key=_DAY, bucket="data", endpoint="s3.example.org")),
    "list-of-oss": lists(OssLocation(key=_DAY, bucket="data", endpoint="oss.example.org")),
    "list-of-gcs": lists(GcsLocation(key="in", bucket="data", service_account_key=secret("gcs"))),
    "list-of-azure": lists(
        AzureLocation(blob="in", container="data", endpoint="https://a.blob.core.windows.net")
    ),
    "list-of-plugin": lists(PluginLocation(key="in", name="ftp", configuration="{}")),
    "file-from-s3": takes(S3),
    "file-from-s3-key": takes(S3Location(key="data/train.csv")),
    "file-from-s3-customer-key": takes(
        S3Location(key="a", bucket="b", encryption=Encryption(customer_key=secret("own")))
    ),
    "file-from-s3-role": takes(
        S3Location(key="a", bucket="b", role_arn="arn:aws:iam::123456789012:role/reader")
    ),
    "file-from-oss": takes(OSS),
    "file-from-gcs": takes(GCS),
    "file-from-hdfs": takes(HDFS),
    "file-from-hdfs-keytab": takes(HDFS_KEYTAB),
    "directory-from-git": takes(GIT, "directory"),
    "directory-from-git-ssh": takes(
        GitLocation(repository="git@example.org:code.git", ssh_key=secret("key")), "directory"
    ),
    "file-from-azure": takes(AZURE),
    "file-from-http": takes(HTTP),
    "file-from-http-certificate": takes(
        HttpLocation(
            url="https://example.org/a",
            client_certificate=ClientCertificate(certificate=secret("cert"), key=secret("key")),
        )
    ),
    "file-from-http-token": takes(
        HttpLocation(
            url="https://example.org/a",
            oauth2=OAuth2(
                client_id=secret("id"),
                client_secret=secret("secret"),
                token_url=secret("url"),
                scopes=("read",),
                parameters=FrozenDict(audience="data"),
            ),
        )
    ),
    "file-from-artifactory": takes(ARTIFACTORY),
    "file-from-raw": takes(RAW),
    "file-from-plugin": takes(PLUGIN),
    "file-with-settings": flow(
        process(
            "a",
            inputs=(
                Input(
                    name="data",
                    type="directory",
                    at=S3Location(key="data"),
                    archive=Zip(),
                    optional=True,
                    mode=0o755,
                    recurse_mode=True,
                ),
            ),
        )
    ),
    "file-to-s3": gives(
        S3,
        archive=Tar(level=9),
        optional=True,
        removal=FileRemoval(
            on="completion",
            service_account="remover",
            labels=FrozenDict(team="ml"),
            annotations=FrozenDict(note="x"),
        ),
    ),
    "file-to-oss": gives(OSS),
    "directory-to-oss": flow(
        process(
            "a",
            outputs=(Output(name="all", type="directory", path="all", at=OSS, archive=Zip()),),
        )
    ),
    "file-to-gcs": gives(GCS, archive=Tar()),
    "file-to-hdfs": gives(HDFS),
    "file-to-azure": gives(AZURE, removal=FileRemoval(on="deletion")),
    "file-to-http": gives(HTTP),
    "file-to-artifactory": gives(ARTIFACTORY, removal=FileRemoval(on="never")),
    "file-to-plugin": gives(PLUGIN),
    "file-read-where-it-was-put": flow(
        process("a", outputs=(Output(name="model", type="file", path="m", at=S3, archive=Tar()),)),
        process(
            "b", inputs=(Input(name="model", type="file", value=StepRef(step="a", output="model")),)
        ),
    ),
    "file-of-a-workflow-with-settings": flow(
        process("a", outputs=(Output(name="model", type="file", path="m"),)),
        files=FileSettings(
            repository=RepositoryRef(config_map="repositories", key="ours"),
            removal=RunFileRemoval(
                on="deletion",
                service_account="remover",
                labels=FrozenDict(team="ml"),
                force=True,
                pod_spec_patch=FrozenDict(priorityClassName="low"),
            ),
            keep_logs=True,
        ),
    ),
    "log-kept": flow(process("a", logs=LogSettings())),
    **{
        f"log-to-{location.kind}": flow(process("a", logs=LogSettings(at=location)))
        for location in (S3, OSS, GCS, HDFS, AZURE, HTTP, ARTIFACTORY, PLUGIN)
    },
}
