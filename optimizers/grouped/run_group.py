"""Runs the steps of a group in one pod: in their order, side by side where that allows."""

from __future__ import annotations

import contextlib
import datetime
import json
import math
import os
import queue
import shutil
import signal
import threading
import time
from typing import Any

from couler.errors import EvaluationError, WireError
from couler.ir.semantics.retries import attempt_seconds, next_wait
from couler.optimizers.grouped.run_attempts import (
    STOPPED,
    AttemptError,
    Log,
    Running,
    attempt,
    bind,
    copy_all,
    group_work,
)

REPORT = "couler-group: "
STOP_S = 1.0
"""How long processes have to end if the pod is asked to; engines wait for 2 seconds."""

WAKE_S = 0.2
"""How long a signal may be heard later than it came."""

BY_PROCESSORS = "processors"
"""In place of a number: as many steps at the same time as there are processors."""

LEAST_PLACES = 2


class Room:
    """What of the pod is free: places, and amounts of what steps need."""

    def __init__(self, places: int | None, amounts: dict[str, float]) -> None:
        self.changed = threading.Condition()
        self.places = places
        self.amounts = dict(amounts)
        self.inside: list[dict[str, float]] = []
        self.waiting: list[tuple[int, dict[str, float]]] = []

    def enter(self, index: int, needs: dict[str, float]) -> None:
        """Wait until there is room, and take it."""
        with self.changed:
            self.waiting.append((index, needs))
            self.waiting.sort(key=lambda one: one[0])
            self.changed.notify_all()
            while next((at for at, some in self.waiting if self._fits(some)), None) != index:
                self.changed.wait()
            self.waiting = [one for one in self.waiting if one[0] != index]
            self.inside.append(needs)
            self.changed.notify_all()

    def leave(self, needs: dict[str, float]) -> None:
        """Give back what was taken."""
        with self.changed:
            self.inside.remove(needs)
            self.changed.notify_all()

    def _fits(self, needs: dict[str, float]) -> bool:
        if self.places is not None and len(self.inside) >= self.places:
            return False
        # Summed up anew: what is taken off and put back is not what it was, of floats.
        return all(
            math.fsum(one.get(name, 0) for one in (*self.inside, needs)) <= amount * (1 + 1e-9)
            for name, amount in self.amounts.items()
        )


class Runner:
    """Runs one group."""

    def __init__(self, group: dict[str, Any], log: Log) -> None:
        self.group, self.log = group, log
        self.running = Running()
        places = group.get("max_parallel")
        if places == BY_PROCESSORS:
            places = max(LEAST_PLACES, processors())
        self.room = Room(places, group.get("room", {}))
        self.outputs: dict[str, dict[str, tuple[str, str]]] = {}
        self.ends: dict[str, dict[str, Any]] = {}
        self.ended: queue.Queue[tuple[str, dict[str, Any]]] = queue.Queue()

    def run(self) -> int:
        """Run all steps and return the exit code."""
        steps = self.group["steps"]
        waiting = dict(enumerate(steps))
        under_way = 0
        while waiting or under_way:
            for index, step in list(waiting.items()):
                why = self.why_omitted(step)
                if why:
                    del waiting[index]
                    self.ends[step["name"]] = {"state": "omitted", "attempts": 0, "message": why}
                elif all(one in self.ends for one in step["after"]):
                    del waiting[index]
                    under_way += 1
                    threading.Thread(target=self.work, args=(index, step), daemon=True).start()
            if under_way:
                name, end = self.next_end()
                under_way -= 1
                self.outputs[name] = end.pop("outputs", {})
                self.ends[name] = end
        ends = [self.ends[step["name"]] for step in steps]
        failed = [end for end in ends if end["state"] != "succeeded"]
        code = next((end["exit_code"] for end in failed if end.get("exit_code")), 1)
        if not failed:
            code = self.hand_out()
        report = [{"name": step["name"], **self.ends[step["name"]]} for step in steps]
        self.log.write((REPORT + json.dumps({"version": 1, "steps": report})).encode())
        if self.log.fault:  # as a step by itself, whose own writing would have failed
            with contextlib.suppress(OSError):
                os.write(2, f"the log cannot be written: {self.log.fault}\n".encode())
        return code or int(bool(self.log.fault))

    def next_end(self) -> tuple[str, dict[str, Any]]:
        """Wait for the next step that ends."""
        while True:
            with contextlib.suppress(queue.Empty):
                return self.ended.get(timeout=WAKE_S)

    def why_omitted(self, step: dict[str, Any]) -> str:
        """Return why a step does not run; nothing if it may, once all that it waits for ended."""
        for name in step["after"]:
            state = self.ends.get(name, {}).get("state", "succeeded")
            if state != "succeeded":
                ended = "failed" if state == "failed" else "was " + state
                return f"it needs the success of {name}, which {ended}"
        return STOPPED if self.running.stopped.is_set() else ""

    def work(self, index: int, step: dict[str, Any]) -> None:
        """Run one step with its attempts, in a thread of its own."""
        end: dict[str, Any] = {"state": "failed", "attempts": 0, "started": now()}
        try:
            end["outputs"] = self.attempts(index, step, end)
            end["state"] = "succeeded"
        except (EvaluationError, WireError, AttemptError) as error:
            if not end["attempts"] and self.running.stopped.is_set():
                end["state"] = "omitted"
            end["message"] = str(error)
            end["exit_code"] = getattr(error, "code", None)
            self.log.line(step["name"], str(error).encode(), b"!")
        except Exception as error:  # noqa: BLE001  # what is not known of ends the step, not the thread
            end["message"] = f"{type(error).__name__}: {error}"
            self.log.line(step["name"], end["message"].encode(), b"!")
        end["finished"] = now()
        self.ended.put((step["name"], end))

    def attempts(
        self, index: int, step: dict[str, Any], end: dict[str, Any]
    ) -> dict[str, tuple[str, str]]:
        """Try a step as often as it may be, and return what it gave."""
        bound = bind(step, self.outputs)
        retry, needs = step.get("retry") or {}, step.get("needs", {})
        begun = time.monotonic()
        while True:
            self.room.enter(index, needs)
            try:
                if self.running.stopped.is_set():
                    raise AttemptError("", STOPPED)
                if not end["attempts"]:
                    begun, end["started"] = time.monotonic(), now()
                spent_s, limit_s = time.monotonic() - begun, step.get("timeout_s")
                timeout_s = attempt_seconds(retry, end["attempts"], spent_s, limit_s)
                end["attempts"] += 1
                folder = os.path.join(group_work(), "steps", f"{index}-{end['attempts']}")
                given = attempt(step, bound, folder, timeout_s, self.running, self.log)
            except AttemptError as error:
                failure = error
            else:
                end["exit_code"] = 0
                return given
            finally:
                self.room.leave(needs)
            spent_s = time.monotonic() - begun
            wait_s = next_wait(retry, end["attempts"], failure.kind, failure.code, spent_s)
            if wait_s is None:
                raise failure
            told = f"{failure}; it is tried again" + (f" in {wait_s:g} s" if wait_s else "")
            self.log.line(step["name"], told.encode(), b"!")
            # The pod asks for room for what each step writes once.
            shutil.rmtree(folder, ignore_errors=True)
            if self.running.stopped.wait(wait_s):
                raise failure

    def hand_out(self) -> int:
        """Write what others read to where the pod gives it out; return the exit code."""
        for output in self.group["outputs"]:
            stored = self.outputs[output["step"]].get(output["output"])
            if stored is None:  # it is optional
                continue
            place = os.path.join(group_work(), output["path"])
            try:
                os.makedirs(os.path.dirname(place), exist_ok=True)
                if stored[1] in ("file", "directory"):
                    copy_all(stored[0], place, link)
                else:
                    with open(place, "w", encoding="utf-8", newline="") as file:
                        file.write(stored[0] + "\n")  # who reads it takes one newline away
            except OSError as error:
                told = f"its output {output['output']} cannot be handed on: {error}"
                self.log.line(output["step"], told.encode(), b"!")
                return 1
        return 0

    def stop(self, *_: Any) -> None:
        """End all that runs; called where a signal comes in, which may be anywhere."""
        threading.Thread(target=self.running.stop, args=(STOP_S,), daemon=True).start()


def processors() -> int:
    """Return how many processors the pod can use: those of the machine, within its limit."""
    found = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        found = len(os.sched_getaffinity(0))
    for files in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        with contextlib.suppress(OSError, ValueError, ZeroDivisionError):
            words: list[str] = []
            for name in files:
                with open("/sys/fs/cgroup/" + name) as file:
                    words += file.read().split()
            quota, period = map(int, words)
            if quota > 0:
                found = min(found, math.ceil(quota / period))
    return found


def link(source: str, place: str) -> None:
    """Give a file another name, or copy it where that cannot be."""
    try:
        os.link(source, place)
    except OSError:
        copy_all(source, place)


def now() -> str:
    """Return the time in UTC, to the millisecond."""
    moment = datetime.datetime.now(datetime.timezone.utc)  # noqa: UP017  # Python 3.8
    return moment.isoformat(timespec="milliseconds")


def run_group(group: dict[str, Any]) -> int:
    """Run a group and return its exit code."""
    for step in group["steps"]:
        step["words"] += ["-c", group["run"][step["run"]]] if "run" in step else []
    runner = Runner(group, Log())
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, runner.stop)
    return runner.run()
