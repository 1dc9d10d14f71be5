"""What a look at a run on Argo and on Airflow costs, beside reading the JSON that tells of it.

The workflow is a layered DAG: each step waits for two of the layer before and reads what one of
them gave; every tenth is a foreach of ten items. Half of it has succeeded, a few steps have failed,
the rest has not begun. A look is what is done each time that Argo tells of a change, and at each
poll of Airflow: from what the server sent, read as JSON, to how every step stands. What is asked
once for a run, such as the output of a task, was asked before.

    python benchmarks/observing.py [--quick]

Every figure is the best of several runs in a process of its own, in CPU seconds. The floor is
`json.loads` of the same text, which nobody who looks at a run can save. Python's garbage collector
is off for both, as in `timeit`: how often it goes through all objects depends on how many the
process has besides. What a look takes with it is printed as well.

A table of these comes first; then three ratios for each engine, with their limits: of a step in the
largest run to one in the smallest, of a look to its floor in the largest run, and of a look at that
with its steps listed in reverse. What counts are the ratios: machines differ, and are noisy.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
import typing as t
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from workloads.layers import parents
from workloads.limits import verdict

EVERY, ITEMS = 10, 10
"""How many steps there are to a foreach, and how many items that has."""

SIZES = (1_000, 10_000)
QUICK = (500, 2_500)
RUNS = 5

GROWTH_LIMIT = 1.5
FLOOR_LIMITS = {"argo": 10.0, "airflow": 10.0}
ORDER_LIMIT = 1.5

Json: t.TypeAlias = t.Any
BEGUN, ENDED = "2026-03-01T12:00:00Z", "2026-03-01T12:01:00Z"


@dataclass(frozen=True)
class Instance:
    """A step or an item, and how it stands."""

    step: str
    item: int | None
    state: str
    """`succeeded`, `failed` or `waiting`."""


def is_foreach(index: int) -> bool:
    """Return whether a step has items."""
    return index % EVERY == EVERY - 1


def workflow_of(steps: int, *, is_reversed: bool) -> Json:
    """Return the workflow."""
    from couler.ir.policies import Foreach
    from couler.ir.values import Literal, StepRef
    from couler.ir.workflow import Container, Input, Output, Step, Workflow

    made = []
    for index in range(steps):
        before = parents(index)
        read = [one for one in before if not is_foreach(one)][:1]
        made.append(
            Step(
                name=f"step-{index}",
                action=Container(image="alpine:3.20", command=("echo",)),
                depends_on=tuple(f"step-{one}" for one in before),
                inputs=tuple(
                    Input(name="text", value=StepRef(step=f"step-{one}", output="result"))
                    for one in read
                ),
                outputs=(Output(),),
                foreach=Foreach(over={"item": Literal(value=list(range(ITEMS)))})
                if is_foreach(index)
                else None,
            )
        )
    return Workflow(name="layers", steps=tuple(reversed(made) if is_reversed else made))


def instances(steps: int) -> Iterator[Instance]:
    """Yield what runs something, in the order of the layers."""
    for index in range(steps):
        state = "succeeded" if index < steps // 2 else "waiting"
        if index < steps // 2 and index % 100 == 7:
            state = "failed"
        items: tuple[int | None, ...] = tuple(range(ITEMS)) if is_foreach(index) else (None,)
        for item in items:
            yield Instance(f"step-{index}", item, state)


# Argo ----------------------------------------------------------------------------------------


def argo_text(steps: int) -> str:
    """Return a Workflow as the API of Kubernetes sends it."""
    name = "layers-7"
    nodes = {name: argo_node(name, name, "DAG", "Running", "")}
    for one in instances(steps):
        if one.state == "waiting":
            continue
        phase = one.state.capitalize()
        group = f"{name}.{one.step}"
        if one.item is None:
            nodes[group] = argo_node(group, one.step, "Pod", phase, name)
            continue
        nodes.setdefault(group, argo_node(group, one.step, "TaskGroup", phase, name))
        item = f"{group}({one.item}:{one.item})"
        nodes[item] = argo_node(item, one.step, "Pod", phase, name)
    status = {"phase": "Running", "startedAt": BEGUN, "finishedAt": None, "nodes": nodes}
    metadata = {"name": name, "namespace": "default", "labels": {"couler/run": name}}
    return json.dumps({"metadata": metadata, "spec": {}, "status": status})


def argo_node(name: str, step: str, kind: str, phase: str, boundary: str) -> Json:
    """Return a node with the fields that Argo writes."""
    node = {
        "id": name,
        "name": name,
        "displayName": name.rpartition(".")[2],
        "type": kind,
        "templateName": step,
        "templateScope": "local/layers-7",
        "phase": phase,
        "boundaryID": boundary,
        "startedAt": BEGUN,
        "finishedAt": None if phase == "Running" else ENDED,
        "progress": "1/1",
        "resourcesDuration": {"cpu": 1, "memory": 12},
        "children": [],
    }
    if kind == "Pod":
        node["hostNodeName"] = "node-3"
        node["inputs"] = {"parameters": [{"name": "text", "value": "x"}]}
        failed = phase == "Failed"
        node["outputs"] = {"exitCode": "1"} if failed else {"exitCode": "0", "result": "x"}
        if failed:
            node["message"] = "main: Error (exit code 1)"
    return node


def argo_look(steps: int, workflow: Json, read: Json) -> Callable[[], Json]:
    """Return what looks at such a run."""
    from couler.backends.argo.observe import Observer

    observer = Observer(workflow)
    return lambda: observer.observe(read)


# Airflow -------------------------------------------------------------------------------------


def airflow_text(steps: int) -> str:
    """Return the task instances of a run as Airflow sends them, all pages as one."""
    states = {"succeeded": "success", "failed": "failed", "waiting": None}
    tasks = [
        airflow_task(one.step, -1 if one.item is None else one.item, states[one.state])
        for one in instances(steps)
    ]
    return json.dumps({"task_instances": tasks, "total_entries": len(tasks)})


def airflow_task(name: str, index: int, state: str | None) -> Json:
    """Return a task instance with the fields that Airflow 3.3 has."""
    has_begun = state is not None
    return {
        "id": "0195b0f2-6a5f-7a0c-9d43-0d3c7f1f9a51",
        "task_id": name,
        "dag_id": "layers",
        "dag_run_id": "layers-7",
        "map_index": index,
        "logical_date": None,
        "run_after": BEGUN,
        "start_date": BEGUN if has_begun else None,
        "end_date": ENDED if has_begun else None,
        "duration": 60.0 if has_begun else None,
        "state": state,
        "try_number": int(has_begun),
        "max_tries": 0,
        "task_display_name": name,
        "dag_display_name": "layers",
        "hostname": "worker-3",
        "unixname": "airflow",
        "pool": "default_pool",
        "pool_slots": 1,
        "queue": "default",
        "priority_weight": 1,
        "operator": "KubernetesPodOperator",
        "operator_name": "KubernetesPodOperator",
        "queued_when": BEGUN if has_begun else None,
        "scheduled_when": BEGUN if has_begun else None,
        "pid": 17 if has_begun else None,
        "executor": None,
        "executor_config": "{}",
        "note": None,
        "rendered_map_index": None,
        "rendered_fields": {},
        "trigger": None,
        "triggerer_job": None,
        "dag_version": {"id": "0195b0f2", "version_number": 1, "dag_id": "layers"},
    }


def airflow_look(steps: int, workflow: Json, read: Json) -> Callable[[], Json]:
    """Return what looks at such a run, which knows already what its tasks gave."""
    from couler.backends.airflow.observing import Asked, Memory
    from couler.backends.airflow.rest import AirflowApi, RunApi

    class Api(AirflowApi):
        """Answers as the server that has sent all this."""

        def call(self, method: str, path: str, **given: Json) -> Json:
            if path.endswith("/taskInstances"):
                begin, most = given["params"]["offset"], given["params"]["limit"]
                return {**read, "task_instances": read["task_instances"][begin : begin + most]}
            if "/xcomEntries/" in path:
                return {"value": '{"result": "x"}'}
            if "/logs/" in path:
                return {"content": [{"event": "exit code 1", "level": "error"}]}
            return {"state": "running", "note": None, "start_date": BEGUN, "end_date": None}

    run = RunApi(Api(t.cast("Json", None)), "layers", "layers-7")
    memory = Memory()
    return lambda: Asked(run, workflow, memory).observation()


# Measuring -----------------------------------------------------------------------------------

ENGINES: dict[str, tuple[Callable[[int], str], Callable[[int, Json, Json], Callable[[], Json]]]] = {
    "argo": (argo_text, argo_look),
    "airflow": (airflow_text, airflow_look),
}


def measure(engine: str, steps: int, *, is_reversed: bool) -> dict[str, float]:
    """Return the best CPU seconds of a look and of its floor, and the bytes of the text."""
    text_of, look_of = ENGINES[engine]
    text = text_of(steps)
    look = look_of(steps, workflow_of(steps, is_reversed=is_reversed), json.loads(text))
    seen = {(str(one.path), one.status) for one in look().steps}
    check(steps, seen)
    return {
        "look_s": best(look),
        "collected_s": best(look, collecting=True),
        "floor_s": best(lambda: json.loads(text)),
        "bytes": len(text.encode()),
    }


def check(steps: int, seen: set[tuple[str, str]]) -> None:
    """Refuse a look that has not seen what there is."""
    wanted = {
        (one.step if one.item is None else f"{one.step}[{one.item}]", one.state)
        for one in instances(steps)
        if one.state != "waiting"
    }
    if not wanted <= seen:
        sys.exit(f"{len(wanted - seen)} of {len(wanted)} instances were not seen as they are")


def best(act: Callable[[], Json], *, collecting: bool = False) -> float:
    """Return the least CPU seconds of several runs."""
    found = float("inf")
    for _ in range(RUNS):
        gc.collect()
        if not collecting:
            gc.disable()
        start = time.process_time()
        act()
        found = min(found, time.process_time() - start)
        gc.enable()
    return found


def in_own_process(engine: str, steps: int, order: str) -> dict[str, float]:
    """Measure in a fresh interpreter."""
    command = [sys.executable, __file__, "--measure", engine, str(steps), order]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def report(sizes: tuple[int, int]) -> bool:
    """Print all figures; return whether every limit is kept."""
    small, large = sizes
    print("engine   steps   order     look, s  us/step  collected, s  json.loads, s       bytes")
    results: dict[tuple[str, int, str], dict[str, float]] = {}
    for engine in ENGINES:
        for steps, order in ((small, "program"), (large, "program"), (large, "reversed")):
            result = results[engine, steps, order] = in_own_process(engine, steps, order)
            print(
                f"{engine:<8} {steps:<7} {order:<9} {result['look_s']:<8.4f} "
                f"{result['look_s'] / steps * 1e6:<8.1f} {result['collected_s']:<13.4f} "
                f"{result['floor_s']:<13.4f} {result['bytes']:>12,}",
                flush=True,
            )
    print()
    kept = []
    for engine in ENGINES:
        first, last, back = (
            results[engine, steps, order]
            for steps, order in ((small, "program"), (large, "program"), (large, "reversed"))
        )
        growth = last["look_s"] / large / (first["look_s"] / small)
        kept += [
            verdict(f"{engine}: time a step at {large:,} / at {small:,}", growth, GROWTH_LIMIT),
            verdict(
                f"{engine}: a look at {large:,} / json.loads",
                last["look_s"] / last["floor_s"],
                FLOOR_LIMITS[engine],
            ),
            verdict(
                f"{engine}: steps in reverse / in order",
                back["look_s"] / last["look_s"],
                ORDER_LIMIT,
            ),
        ]
    return all(kept)


def main() -> None:
    """Run the benchmark, or one measurement of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    parser.add_argument("--measure", nargs=3, metavar=("ENGINE", "STEPS", "ORDER"))
    options = parser.parse_args()
    if options.measure:
        engine, steps, order = options.measure
        print(json.dumps(measure(engine, int(steps), is_reversed=order == "reversed")))
        return
    if not report(QUICK if options.quick else SIZES):
        sys.exit("some limit is not kept; run again on an idle machine before believing it")


if __name__ == "__main__":
    main()
