"""What a machine has, what steps ask for, and what is refused before the run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend, capacity
from couler.backends.local.capacity import Capacity, check_needs
from couler.errors import InvalidWorkflowError
from couler.ir.policies import Gpu, Resources
from tests.corpus.build import flow, group, sh


@pytest.mark.parametrize(
    ("visible", "asked", "expected"),
    [
        ("2,3", None, ("2", "3")),
        ("2,3", 1, ("2",)),
        ("", None, ()),
        ("GPU-5ae7, GPU-91bc", None, ("GPU-5ae7", "GPU-91bc")),
        ("-1", None, ()),
        ("1,-1,2", None, ("1",)),
    ],
)
def test_visible_gpus_are_those_of_the_run(
    visible: str, asked: int | None, expected: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert Capacity.choose(RunOptions(gpus=asked)).gpus == expected


def test_gpus_are_looked_for_once_and_only_for_who_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\necho asked >> {tmp_path}/asked\necho GPU 0\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    capacity._listed_gpus.cache_clear()
    try:
        plain = flow("w", sh("a", "true"))
        assert Capacity.choose(RunOptions(), plain).gpus == ()
        assert not (tmp_path / "asked").exists()
        eager = flow("w", group("g", sh("a", "true", resources=Resources(gpu=Gpu(count=1)))))
        for _ in range(2):
            assert Capacity.choose(RunOptions(), eager).gpus == ("0",)
        assert (tmp_path / "asked").read_text(encoding="utf-8") == "asked\n"
    finally:
        capacity._listed_gpus.cache_clear()


def test_limits_of_a_control_group_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cpu.max").write_text("50000 100000\n", encoding="ascii")
    (tmp_path / "memory.max").write_text("1048576\n", encoding="ascii")
    monkeypatch.setattr(capacity, "_CGROUP", tmp_path)
    here = Capacity.choose(RunOptions())
    assert (here.jobs, here.cpus, here.memory_bytes) == (1, 0.5, 1 << 20)


def test_every_step_that_can_never_run_is_named_before_the_run(tmp_path: Path) -> None:
    workflow = flow(
        "w",
        sh("fits", "true", resources=Resources(cpu="1")),
        group("g", sh("cpus", "true", resources=Resources(cpu="3", memory="2Gi"))),
        sh("gpus", "true", resources=Resources(gpu=Gpu(count=1))),
    )
    found = list(check_needs(workflow, Capacity(2, 2.0, 1 << 30)))
    assert [(one.code, one.step) for one in found] == [("CLR364", "gpus"), ("CLR364", "g/cpus")]
    assert "3 CPUs, but there are 2, and 2 GiB of memory, but there are 1 GiB" in found[1].message
    assert "1 GPUs, but there are none" in found[0].message
    with pytest.raises(InvalidWorkflowError, match="CLR364"):
        LocalBackend().run(
            workflow, options=RunOptions(home=tmp_path, cpus=2, memory_bytes=1 << 30)
        )
    assert not (tmp_path / "runs").exists()
