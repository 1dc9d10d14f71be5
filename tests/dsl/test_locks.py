"""Locks as programs write them."""

from __future__ import annotations

import couler
from couler.ir import policies as ir
from couler.ir.storage import ConfigKey


def test_locks_of_steps_and_workflows() -> None:
    with couler.Workflow("w", locks=couler.Mutex("nightly", database=True)) as wf:
        couler.run_container(
            "busybox",
            ["true"],
            step_name="a",
            mutex="one",
            locks=[
                couler.Mutex("two", namespace="shared"),
                couler.Semaphore("gpus", config_map="limits"),
                couler.Semaphore("licences"),
            ],
        )
    workflow = wf.to_ir()
    assert wf.diagnostics == ()
    assert workflow.locks == (ir.Mutex(name="nightly", database=True),)
    assert workflow.steps[0].mutex == "one"
    assert workflow.steps[0].locks == (
        ir.Mutex(name="two", namespace="shared"),
        ir.Semaphore(limit=ConfigKey(config_map="limits", key="gpus")),
        ir.DatabaseSemaphore(key="licences"),
    )


def test_what_is_no_lock_is_told_with_its_step() -> None:
    with couler.Workflow("w", locks="nightly") as wf:  # type: ignore[arg-type]  # that is the test
        couler.run_container("busybox", ["true"], step_name="a", locks=["m", couler.Mutex("n")])
        couler.run_container("busybox", ["true"], step_name="b", locks=couler.Mutex(3))  # type: ignore[arg-type]
    told = [(found.code, found.message) for found in wf.diagnostics]
    assert told == [
        ("CLR105", "locks: 'nightly' is no couler.Mutex or couler.Semaphore"),
        ("CLR105", "step \"a\": locks: 'm' is no couler.Mutex or couler.Semaphore"),
        ("CLR105", 'step "b": locks: name: Input should be a valid string, not 3'),
    ]
