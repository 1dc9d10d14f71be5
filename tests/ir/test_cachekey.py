"""Keys of cached results: the same for the same work, different for different work."""

from __future__ import annotations

import hashlib

import pytest

from couler.backends.argo.memoization import memo_key
from couler.ir.cachekey import cache_key, definition_digest, text_digest
from couler.ir.policies import Retry, SourceRef
from couler.ir.storage import (
    ClaimVolume,
    ConfigKey,
    EmptyVolume,
    EnvFrom,
    EnvVar,
    HostVolume,
    Mount,
    SecretKey,
    SecretVolume,
    Volume,
)
from couler.ir.values import StepRef
from couler.ir.workflow import Container, Http, Input, Output, Step

VOLUMES = {"v": EmptyVolume(name="v")}
PLAIN = Step(name="a", action=Container(image="busybox", command=("cat",), args=("x",)))


def digest(step: Step) -> str:
    return definition_digest(step, VOLUMES)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "b"},
        {"source": SourceRef(file="f.py", line=1)},
        {"retry": Retry(limit=1)},
        {"action": PLAIN.action.model_copy(update={"args": ("y",)})},
        {"depends_on": ("other",)},
    ],
)
def test_place_policies_and_texts_are_no_part_of_the_definition(change: dict[str, object]) -> None:
    assert digest(PLAIN.model_copy(update=change)) == digest(PLAIN)


@pytest.mark.parametrize(
    "change",
    [
        {"action": PLAIN.action.model_copy(update={"image": "busybox:1.37"})},
        {"action": PLAIN.action.model_copy(update={"args": ("x", "y")})},
        {"inputs": (Input(name="i", value=StepRef(step="s")),)},
        {"outputs": (Output(name="o", path="o"),)},
        {"env": (EnvVar(name="A", value="1"),)},
        {"env_from": (EnvFrom(secret="s"),)},
        {"mounts": (Mount(volume="v", path="/data"),)},
        {"working_dir": "/data"},
    ],
)
def test_what_the_process_is_given_is_a_part_of_the_definition(change: dict[str, object]) -> None:
    assert digest(PLAIN.model_copy(update=change)) != digest(PLAIN)


def test_it_counts_where_variables_and_mounts_come_from() -> None:
    """The names alone may stay when something else is read."""

    def secret(**fields: object) -> EnvVar:
        return EnvVar(name="A", secret=SecretKey(secret="db", key="k").model_copy(update=fields))

    variables = (
        EnvVar(name="A", value="x"),
        secret(),
        secret(secret="other"),
        secret(key="other"),
        EnvVar(name="A", config=ConfigKey(config_map="db", key="k")),
    )
    url = "http://example.org"
    steps = [
        *(PLAIN.model_copy(update={"env": (variable,)}) for variable in variables),
        *(Step(name="a", action=Http(url=url, headers=(variable,))) for variable in variables),
        Step(name="a", action=Http(url=url)),
        Step(name="a", action=Http(url=url, headers=(EnvVar(name="B", value="x"),))),
    ]
    assert len({digest(step) for step in steps}) == len(steps)
    assert digest(steps[0]) == digest(
        PLAIN.model_copy(update={"env": (EnvVar(name="A", value="y"),)})
    )

    mounting = PLAIN.model_copy(update={"mounts": (Mount(volume="v", path="/data"),)})
    volumes: tuple[Volume, ...] = (
        HostVolume(name="v", path="/one"),
        HostVolume(name="v", path="/two"),
        ClaimVolume(name="v", claim="c"),
        SecretVolume(name="v", secret="c"),
    )
    other = HostVolume(name="other", path="/other")
    digests = {definition_digest(mounting, {"v": volume}) for volume in volumes}
    assert len(digests) == len(volumes)
    assert definition_digest(mounting, {"v": volumes[0], "other": other}) in digests


def test_the_key_is_the_digest_of_the_digests() -> None:
    def sha256(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()

    assert cache_key("d", ["x", "y"]) == sha256("d" + sha256("x") + sha256("y"))
    assert cache_key("d", ["x", "y"]) != cache_key("d", ["xy", ""])


def test_argo_computes_the_same_key() -> None:
    assert memo_key("d", [("a", "x"), ("b", "y")]) == cache_key("d", ["x", "y"])
    assert memo_key("d", []) == cache_key("d", [])
    expression = memo_key("d", [("a", "x"), ("b", None)])
    assert expression == (
        "{{=sprig.sha256sum('d' + '"
        + text_digest("x")
        + "' + sprig.sha256sum(inputs.parameters.b))}}"
    )
