"""Secrets by reference: read when needed, never shown."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from couler.errors import ConfigurationError
from couler.rest.credentials import Credential

WHAT = 'the token of the target "prod"'


def credential(reference: object, **environment: str) -> Credential:
    return Credential(WHAT, reference, environment)


def test_each_form_gives_the_secret(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("from-file\n")
    program = [sys.executable, "-c", "import os; print(os.environ['T'] + '-from-command')"]
    assert credential({"env": "T"}, T=" abc ").read() == "abc"
    assert credential({"file": str(file)}).read() == "from-file"
    assert credential({"command": program}, T="x").read() == "x-from-command"
    assert credential({"command": f"cat {file}"}, PATH="/usr/bin:/bin").read() == "from-file"


def test_it_is_read_again_only_when_told(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    token = credential({"file": str(file)})
    assert token.read() == "one"
    file.write_text("two")
    assert token.read() == "one"
    token.forget()
    assert token.read() == "two"
    assert token.can_change
    assert not credential({"env": "T"}).can_change


@pytest.mark.parametrize(
    "reference",
    [
        "s3cr3t",
        None,
        {},
        {"env": 3},
        {"env": ""},
        {"token": "s3cr3t"},
        {"env": "A", "file": "s3cr3t"},
        {"command": []},
        {"command": "  "},
        {"command": ["a", 1]},
    ],
)
def test_what_is_no_reference_is_refused_and_not_shown(reference: object) -> None:
    with pytest.raises(ConfigurationError, match=r"must be a reference: {env =") as refused:
        credential(reference)
    assert WHAT in str(refused.value)
    assert "s3cr3t" not in str(refused.value)


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        ({"env": "GONE"}, "the environment has no variable GONE"),
        ({"env": "EMPTY"}, "env EMPTY gives nothing"),
        ({"env": "LINES"}, "env LINES gives more than one line"),
        ({"file": "/none/such"}, "/none/such cannot be read: No such file or directory"),
        ({"command": "/none/such --key s3cr3t"}, "/none/such cannot be started"),
        ({"command": "'"}, "its command cannot be read: No closing quotation"),
        (
            {"command": [sys.executable, "-c", "import sys; sys.exit('no\\nmore')", "s3cr3t"]},
            "ended with 1: no",
        ),
    ],
)
def test_what_cannot_be_had_is_said(reference: object, told: str) -> None:
    found = credential(reference, EMPTY=" ", LINES="a\nb")
    with pytest.raises(ConfigurationError) as refused:
        found.read()
    assert told in str(refused.value)
    assert "s3cr3t" not in str(refused.value)
    assert "s3cr3t" not in repr(found)
