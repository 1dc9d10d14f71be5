"""Runs what pods would run as processes beside Airflow: for tests that are not about pods.

Imported by `tests.support.airflow_worker` in Airflow's own environment, and so imports nothing of
this project. A pod of the emulated cluster takes some tenths of a second, a process next to none.
"""

from __future__ import annotations

import contextlib
import functools
import os
import subprocess
import time
import unittest.mock
from collections.abc import Callable, Iterator
from typing import Any

_WRAPPER = "/couler/busybox"
_WAIT_S = 1
"""What ``dag.test`` waits where it finds no task to run."""


@contextlib.contextmanager
def in_place_of_pods() -> Iterator[None]:
    """Let operators of pods run their command here, and ``dag.test`` look again at once."""
    from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator

    with (
        unittest.mock.patch.object(KubernetesPodOperator, "execute", _execute),
        unittest.mock.patch("time.sleep", functools.partial(_sleep, time.sleep)),
    ):
        yield


def _sleep(original: Callable[[float], None], seconds: float) -> None:
    original(0.001 if seconds == _WAIT_S else seconds)


def _execute(operator: Any, context: Any) -> dict[str, str] | None:
    """Run the command, whose only output is the standard output."""
    from airflow.sdk.exceptions import AirflowException

    words = [*operator.cmds, *operator.arguments]
    if words[0] == _WRAPPER:
        words = words[words.index("--") + 1 :]
    given = {one.name: _as_kubelet(one.value or "") for one in operator.env_vars}
    done = subprocess.run(
        [_as_kubelet(word) for word in words],
        env={"PATH": os.environ["PATH"], **given},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    operator.log.info("%s ended with %s: %s", words[2:], done.returncode, done.stdout)
    if done.returncode:
        raise AirflowException(f"the process ended with {done.returncode}")
    if not operator.do_xcom_push:
        return None
    return {"result": done.stdout.removesuffix("\n")}


def _as_kubelet(text: str) -> str:
    return text.replace("$$", "$")
