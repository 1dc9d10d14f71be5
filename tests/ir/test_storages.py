"""Storages that are stated once: what they fill, and what they leave alone."""

from __future__ import annotations

import pytest

from couler.errors import EngineOptionError
from couler.ir.artifacts import GitLocation, HdfsLocation, Location, S3Location
from couler.ir.defaults import Storages, fill_locations
from couler.ir.storage import SecretKey
from couler.ir.values import ParamRef
from couler.ir.walk import all_steps
from couler.ir.workflow import (
    Container,
    Group,
    Input,
    Job,
    LocalForm,
    Output,
    Step,
    Workflow,
)

MINIO: Storages = {
    "s3": {
        "bucket": "data",
        "endpoint": "minio:9000",
        "insecure": "true",
        "access_key": "minio/access",
        "secret_key": {"secret": "minio", "key": "secret"},
    }
}


def takes(location: Location) -> Step:
    given = Input(name="data", type="file", at=location)
    return Step(name="a", action=Container(image="alpine"), inputs=(given,))


def filled(location: Location, storages: Storages = MINIO) -> Location:
    workflow = fill_locations(Workflow(name="w", steps=(takes(location),)), storages)
    [given] = workflow.steps[0].inputs
    assert given.at is not None
    return given.at


def test_a_key_gets_all_that_is_stated() -> None:
    key = ParamRef(name="key")
    assert filled(S3Location(key=key)) == S3Location(
        key=key,
        bucket="data",
        endpoint="minio:9000",
        insecure=True,
        access_key=SecretKey(secret="minio", key="access"),
        secret_key=SecretKey(secret="minio", key="secret"),
    )


def test_what_a_location_says_stays() -> None:
    own = filled(S3Location(key="a", bucket="other", insecure=False))
    assert isinstance(own, S3Location)
    assert (own.bucket, own.insecure, own.endpoint) == ("other", False, "minio:9000")


def test_credentials_do_not_go_to_another_server() -> None:
    elsewhere = S3Location(key="a", bucket="b", endpoint="s3.example.org")
    assert filled(elsewhere) == elsewhere
    code = GitLocation(repository="https://example.org/a.git")
    assert filled(code) == code


def test_a_location_that_says_how_it_is_let_in_takes_no_other_way() -> None:
    role = filled(S3Location(key="a", role_arn="arn:aws:iam::1:role/r"))
    assert isinstance(role, S3Location)
    assert (role.bucket, role.access_key, role.secret_key) == ("data", None, None)
    user = {"hdfs": {"addresses": ["n:1"], "kerberos_cache": "krb/cache", "user": "storage"}}
    own = filled(HdfsLocation(path="/a", user="me"), user)
    assert isinstance(own, HdfsLocation)
    assert (own.addresses, own.user, own.kerberos_cache) == (("n:1",), "me", None)


def test_every_place_of_a_workflow() -> None:
    at = S3Location(key="k")
    given = Input(name="data", type="file", at=at)
    out = Output(name="out", type="file", path="o", at=at)
    inner = Step(name="i", action=Container(image="alpine"), inputs=(given,), outputs=(out,))
    form = LocalForm(action=Container(image="alpine"), inputs=(given,))
    workflow = Workflow(
        name="w",
        steps=(
            Step(name="g", action=Group(steps=(inner,))),
            Step(name="j", action=Job(manifest={"kind": "Job"}, local=form)),
        ),
    )
    text = fill_locations(workflow, MINIO).model_dump_json()
    assert text.count('"minio:9000"') == 3
    plain = Workflow(name="w", steps=(Step(name="a", action=Container(image="alpine")),))
    assert fill_locations(plain, MINIO) is plain
    assert len(list(all_steps(plain))) == 1


@pytest.mark.parametrize(
    ("storages", "told"),
    [
        ({"s33": {}}, 'Did you mean "s3"?'),
        ({"git": {}}, "no storage 'git'"),
        ({"s3": {"buckett": "b"}}, 'Did you mean "bucket"?'),
        ({"s3": {"key": "b"}}, "has no 'key'"),
        ({"s3": {"bucket": 3}}, "bucket"),
        ({"s3": {"access_key": "AKIA"}}, "access_key is no entry: write secret/key"),
        ({"hdfs": {"kerberos_config": 3}}, "kerberos_config is no entry: write config-map/key"),
    ],
)
def test_what_cannot_be_stated(storages: Storages, told: str) -> None:
    with pytest.raises(EngineOptionError, match=told.replace("?", r"\?")):
        fill_locations(Workflow(name="w", steps=(takes(S3Location(key="a")),)), storages)
