"""What Airflow takes to read a compiled DAG file, beside a file of the same DAG written by hand.

The workflow is a layered DAG: each step waits for two of the layer before and runs one container
with an environment variable. The other file is what an engineer would write who has one task a
step: the same operator with the same arguments, and nothing else. Steps are as small as they are
useful, so that whatever is added to each of them weighs most.

    python benchmarks/airflow_scale.py [--quick]

For each file: its bytes; the CPU seconds in which Airflow's own `DagBag` reads it, as the DAG
processor and each task do; and those in which it is serialised for the database. Each is the best
of several runs in a process of Airflow's environment, which `make airflow` makes; the two files
take turns. What counts are the ratios: machines differ, and are noisy.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from workloads.layers import WIDTH, parents

SIZES = (100, 1_000, 5_000)
LIMIT = 1.2
ROOT = Path(__file__).resolve().parents[1]
PYTHON = Path(os.environ.get("COULER_AIRFLOW", ROOT)) / ".venv-airflow" / "bin" / "python"

IMAGE = "alpine:3.20"
FIGURES = ("bytes", "parse", "serialise")


def compiled(steps: int) -> str:
    """Return the DAG file that Couler writes."""
    import couler
    from couler import stages

    with couler.Workflow("layers") as workflow:
        made: list[object] = []
        for index in range(steps):
            step = couler.run_container(
                image=IMAGE,
                command=["echo"],
                args=[f"message {index}"],
                env={"LEVEL": str(index // WIDTH)},
                step_name=f"step_{index}",
            )
            for parent in parents(index):
                made[parent] >> step
            made.append(step)
    return stages.compile(workflow, "airflow", format="python").to_text()


_HEAD = """\
from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from airflow.sdk import DAG

with DAG(
    dag_id="layers", schedule=None, catchup=False, default_args={"image": "alpine:3.20"}
):
"""

_TASK = """\
    step_{index} = KubernetesPodOperator(
        task_id="step_{index}",
        cmds=["echo"],
        arguments=["message {index}"],
        env_vars={{"LEVEL": "{level}"}},
    )
"""


def written(steps: int) -> str:
    """Return the DAG file that an engineer would write."""
    text = _HEAD
    for index in range(steps):
        text += _TASK.format(index=index, level=index // WIDTH)
        before = [f"step_{parent}" for parent in parents(index)]
        if before:
            given = before[0] if len(before) == 1 else f"[{', '.join(before)}]"
            text += f"    {given} >> step_{index}\n"
    return text


def measure(path: Path) -> dict[str, float]:
    """Return what a file takes in this process, which is one of Airflow's environment."""
    from airflow.dag_processing.dagbag import DagBag
    from airflow.serialization.serialized_objects import DagSerialization

    gc.collect()  # of the DAG before
    start = time.process_time()
    bag = DagBag(str(path))
    parse = time.process_time() - start
    if bag.import_errors:
        sys.exit("\n".join(bag.import_errors.values()))
    [dag] = bag.dags.values()
    gc.collect()
    start = time.process_time()
    text = json.dumps(DagSerialization.to_dict(dag))
    serialise = time.process_time() - start
    edges = sum(len(task.downstream_task_ids) for task in dag.tasks)
    return {
        "bytes": path.stat().st_size,
        "parse": parse,
        "serialise": serialise,
        "database": len(text),
        "tasks": len(dag.tasks),
        "edges": edges,
    }


def serve(folder: Path) -> None:
    """Measure the files that are named on standard input, a line each."""
    measure(next(folder.glob("*.py")))  # imports
    for line in sys.stdin:
        print(json.dumps(measure(Path(line.strip()))), flush=True)


def best_of(folder: Path, names: list[str], runs: int) -> dict[str, dict[str, float]]:
    """Measure files in turns and keep the least of each figure."""
    environment = {
        **{name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "TMPDIR")},
        "HOME": str(folder),
        "AIRFLOW_HOME": str(folder / "home"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": "600",
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "ERROR",
    }
    turns = [name for run in range(runs) for name in (names if run % 2 else names[::-1])]
    lines = [str(folder / f"{name}.py") for name in turns]
    done = subprocess.run(
        [str(PYTHON), __file__, "--serve", str(folder)],
        input="\n".join(lines),
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, dict[str, float]] = {}
    answers = [line for line in done.stdout.splitlines() if line.startswith("{")]
    for name, answer in zip(turns, answers, strict=True):
        figures = json.loads(answer)
        known = found.setdefault(name, figures)
        found[name] = {key: min(known[key], figures[key]) for key in figures}
    return found


def report(*, quick: bool) -> bool:
    """Measure all and print the table; return whether all limits are kept."""
    if not PYTHON.exists():
        print("no Airflow here: `make airflow` installs it")
        return True
    print("steps  file      bytes      parse s  serialise s  in the database")
    kept = []
    for steps in SIZES[:2] if quick else SIZES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "couler.py").write_text(compiled(steps))
            (folder / "by_hand.py").write_text(written(steps))
            found = best_of(folder, ["couler", "by_hand"], 7 if steps <= 1_000 else 4)
        for tool, one in sorted(found.items(), reverse=True):
            print(
                f"{steps:<6} {tool:<8} {one['bytes']:>9,.0f}  {one['parse']:>8.3f} "
                f"{one['serialise']:>12.3f} {one['database']:>16,.0f}"
            )
        ours, theirs = found["couler"], found["by_hand"]
        same = all(ours[figure] == theirs[figure] == wanted for figure, wanted in shape(steps))
        if not same:
            print(f"these are not the same DAG: {ours}, {theirs}")
        kept.append(same)
        for figure in FIGURES:
            ratio = ours[figure] / theirs[figure]
            within = ratio <= LIMIT
            verdict = "ok" if within else "OVER"
            print(f"       {figure:<9} / by hand {ratio:6.3f}  limit {LIMIT:.3f}  {verdict}")
            kept.append(within)
    return all(kept)


def shape(steps: int) -> list[tuple[str, int]]:
    """Return how many tasks and edges a DAG has."""
    return [("tasks", steps), ("edges", sum(len(parents(index)) for index in range(steps)))]


def main() -> None:
    """Run the benchmark, or measure in Airflow's environment."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="leave out the largest size")
    parser.add_argument("--serve", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    if not report(quick=options.quick):
        sys.exit("some limit is not kept; run again on an idle machine before believing it")


if __name__ == "__main__":
    main()
