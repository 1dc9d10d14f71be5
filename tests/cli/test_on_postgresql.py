"""Runs of this machine that PostgreSQL records: several at once, with a cache and a budget."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome

pytestmark = pytest.mark.slow

WORKFLOW = """
ir_version: "1"
name: makes
parameters:
- {name: word, default: a}
- {name: gate, default: "1"}
steps:
- name: make
  action:
    kind: container
    image: busybox
    command: [sh, -c, 'yes $COULER_INPUT_word | head -c 4000 > made']
  inputs: [{name: word, value: {kind: param, name: word}}]
  outputs: [{name: made, type: file, path: made}]
  cache: {}
- name: count
  action:
    kind: container
    image: busybox
    command: [sh, -c, 'wc -c < made && test $COULER_INPUT_gate = 1']
  inputs:
  - {name: made, type: file, path: made, value: {kind: step, step: make, output: made}}
  - {name: gate, value: {kind: param, name: gate}}
  outputs: [{name: result}]
outputs:
- {name: size, value: {kind: step, step: count}}
"""


def test_runs_at_once(
    write: Callable[[str, str], str],
    couler_process: Callable[..., Outcome],
    postgresql_url: str,
    folder: Path,
) -> None:
    file = write("makes.yaml", WORKFLOW)
    couler = partial(couler_process, COULER_DATABASE_URL=postgresql_url)
    run = partial(couler, "run", file, "--cache-budget", "10KB")
    with ThreadPoolExecutor(3) as threads:
        done = list(threads.map(lambda word: run("-p", f"word={word}"), "abc"))
    assert [(one.code, "size = 4000" in one.out) for one in done] == [(0, True)] * 3, done
    stats = couler("cache", "stats")
    assert "entries   2" in stats.out, stats
    # Of each word twice: in turn, each could take the place of the one that comes next.
    again = [run("-p", f"word={word}") for word in "aabbcc"]
    assert [one.code for one in again] == [0] * 6, again
    taken = [one for one in again if "cached" in one.err]
    assert taken, again
    failed = run("-p", "gate=0")
    assert failed.code == 1, failed
    [name] = re.findall(r"makes-\w{8}(?= failed)", failed.err)
    repaired = couler("retry", name, "-p", "gate=1")
    assert (repaired.code, "size = 4000" in repaired.out) == (0, True), repaired
    listed = couler("list").out.splitlines()
    assert sum("succeeded" in line for line in listed) == 10, listed
    assert couler("delete", name).code == 0
    assert name not in couler("list").out
    assert list(folder.rglob("couler.db")) == []
