"""`couler logs --attempt`: what one attempt of a step has written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

FLAKY = """
ir_version: "1"
name: flaky
parameters:
- {name: count, required: true}
steps:
- name: try
  action:
    kind: container
    image: busybox
    command:
    - sh
    - -c
    - |
      n=$(wc -l < "$0"); echo x >> "$0"; echo "try $n"; echo "--- attempt 2 ---"; printf cut
      test $n -ge 3
    - {kind: param, name: count}
  retry: {limit: 2}
- name: once
  action: {kind: container, image: busybox, command: [echo, once]}
"""


@pytest.fixture
def flaky(couler: Callable, write: Callable, folder: Path) -> None:
    """A run with three attempts of `try`, and a fourth one of a later session."""
    count = folder / write("count", "")
    told = couler("run", "-q", write("flaky.yaml", FLAKY), "-p", f"count={count}")
    assert told.code == 1, told.err
    assert couler("retry", "-q", "latest").code == 0


@pytest.mark.usefixtures("flaky")
def test_an_attempt_of_all_steps(couler: Callable) -> None:
    first = couler("logs", "latest", "--attempt", "1").out.splitlines()
    assert sorted(first) == [
        "once | once",
        "try  | --- attempt 2 ---",
        "try  | cut",
        "try  | try 0",
    ]
    assert "try 1" in couler("logs", "latest", "--attempt", "2").out
    assert len(couler("logs", "latest", "try").out.splitlines()) == 4 * 3 + 3


@pytest.mark.usefixtures("flaky")
def test_an_attempt_that_there_was_not(couler: Callable) -> None:
    told = couler("logs", "latest", "try", "--attempt", "5")
    assert told.code == 2
    assert 'step "try" has had at most 4 attempts; there is no attempt 5' in told.err
    assert couler("logs", "latest", "try", "--attempt", "0").code == 2
