"""How large a DAG can be: what Airflow's own processes take for DAG files of many tasks.

Flat DAGs have no edges; in layered ones each step waits for two of the 50 of the layer before.
Steps are containers.

    python benchmarks/airflow_limits.py [--quick] [--sizes N ...] [--json OUT]

Columns, in CPU seconds of one process of Airflow's environment (`make airflow`), with a database of
SQLite in a file:

parse
    Airflow's `DagBag` reads the file, as the DAG processor does again and again and as each
    task does when it starts. Airflow gives the processor 30 s (`dagbag_import_timeout`).
write
    It is serialised, and written to the database as a new version.
start
    A run is created: a row for each task, with its weight.
first look
    The scheduler looks at the run for the first time (`DagRun.update_state`): all is open.
half way
    It looks at it when half of the tasks have succeeded. It looks again whenever it comes to the
    run in its loop, and shows no sign of life meanwhile: by default another process takes it
    for dead after 30 s (`scheduler_health_check_threshold`).

`weights` is the rule by which tasks get theirs: `downstream`, Airflow's own, counts all tasks
behind each; `absolute`, which compiled files state from 2,000 tasks on, does not.
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
import typing as t
from pathlib import Path

WIDTH = 50
"""Steps in a layer."""
SIZES = (500, 1_000, 2_000, 5_000, 10_000)
SHAPES = ("flat", "layered")
ROOT = Path(__file__).resolve().parents[1]
PYTHON = Path(os.environ.get("COULER_AIRFLOW", ROOT)) / ".venv-airflow" / "bin" / "python"

FIGURES = ("parse", "write", "start", "first look", "half way")
Row = dict[str, t.Any]


def compiled(shape: str, steps: int, weights: str) -> str:
    """Return the DAG file that Couler writes."""
    import couler
    from couler import stages

    own = {"airflow": {"default_args": {"weight_rule": weights}}}
    with couler.Workflow(name_of(shape, steps, weights), engine=own) as workflow:
        made: list[object] = []
        for index in range(steps):
            step = couler.run_container(
                image="alpine:3.20",
                command=["echo"],
                args=[f"message {index}"],
                step_name=f"step_{index}",
            )
            layer = index // WIDTH
            before = {index - WIDTH, index - WIDTH + 1} if shape == "layered" and layer else ()
            for parent in before:
                if parent < layer * WIDTH:
                    made[parent] >> step
            made.append(step)
    return stages.compile(workflow, "airflow", format="python").to_text()


def name_of(shape: str, steps: int, weights: str) -> str:
    """Return the id of a DAG."""
    return f"{shape}-{steps}-{weights}"


def serve() -> None:
    """Measure the files that are named on standard input, a line each."""
    from airflow.dag_processing.bundles.manager import DagBundlesManager
    from airflow.utils.db import initdb

    initdb()
    DagBundlesManager().sync_bundles_to_db()
    for line in sys.stdin:
        print(json.dumps(measure(Path(line.strip()))), flush=True)


def measure(path: Path) -> Row:
    """Return what a file takes in this process, which is one of Airflow's environment."""
    from airflow._shared.timezones import timezone
    from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db
    from airflow.models.dagrun import DagRun
    from airflow.models.taskinstance import TaskInstance
    from airflow.serialization.serialized_objects import DagSerialization
    from airflow.timetables.base import DataInterval
    from airflow.utils.session import create_session
    from airflow.utils.state import DagRunState, TaskInstanceState
    from airflow.utils.types import DagRunTriggeredByType, DagRunType
    from sqlalchemy import update

    clock = _Clock()
    bag = DagBag(str(path), bundle_path=path.parent, bundle_name="dags-folder")
    clock.stop("parse")
    if bag.import_errors:
        sys.exit("\n".join(bag.import_errors.values()))
    [dag] = bag.dags.values()
    clock.start()
    sync_bag_to_db(bag, "dags-folder", None)
    clock.stop("write")
    written = DagSerialization.to_dict(dag)
    known = DagSerialization.from_dict(written)
    when = timezone.utcnow()
    with create_session() as session:
        clock.start()
        run: DagRun = known.create_dagrun(
            run_id="measured",
            logical_date=when,
            data_interval=DataInterval.exact(when),
            run_after=when,
            run_type=DagRunType.MANUAL,
            state=DagRunState.RUNNING,
            triggered_by=DagRunTriggeredByType.TEST,
            triggering_user_name="benchmark",
            start_date=when,
            session=session,
        )
        session.commit()
        clock.stop("start")
        run.dag = known
        clock.start()
        run.update_state(session=session, execute_callbacks=False)
        session.commit()
        clock.stop("first look")
        ids = [task.task_id for task in dag.topological_sort()]
        done = ids[: len(ids) // 2]
        for start in range(0, len(done), 500):
            session.execute(
                update(TaskInstance)
                .where(TaskInstance.task_id.in_(done[start : start + 500]))
                .where(TaskInstance.run_id == run.run_id, TaskInstance.dag_id == run.dag_id)
                .values(state=TaskInstanceState.SUCCESS)
            )
        session.commit()
        session.expire_all()
        clock.start()
        run.update_state(session=session, execute_callbacks=False)
        session.commit()
        clock.stop("half way")
        run.state = DagRunState.FAILED
    return {
        **clock.seconds,
        "bytes": path.stat().st_size,
        "database": len(json.dumps(written)),
        "tasks": len(dag.tasks),
    }


class _Clock:
    """CPU seconds of this process, by what they were spent on."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.start()

    def start(self) -> None:
        gc.collect()  # of what was before
        self._since = time.process_time()

    def stop(self, name: str) -> None:
        self.seconds[name] = time.process_time() - self._since


def cases(sizes: t.Sequence[int]) -> list[tuple[str, int, str]]:
    """Return the shape, the steps and the rule of weights of each DAG."""
    return [
        (shape, steps, weights)
        for shape in SHAPES
        for steps in sizes
        for weights in ("absolute", "downstream")
        if shape == "layered" or weights == "absolute"
    ]


def measured(sizes: t.Sequence[int]) -> t.Iterator[Row]:
    """Yield a row for each DAG, as they are measured."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "dags").mkdir()
        environment = {
            **{one: os.environ[one] for one in ("PATH", "LANG", "TMPDIR") if one in os.environ},
            "HOME": name,
            "AIRFLOW_HOME": name,
            "AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": "600",
            "AIRFLOW__LOGGING__LOGGING_LEVEL": "ERROR",
        }
        with subprocess.Popen(
            [str(PYTHON), __file__, "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            first = [("flat", 10, "absolute")]  # imports
            for shape, steps, weights in [*first, *cases(sizes)]:
                path = folder / "dags" / f"{name_of(shape, steps, weights)}.py"
                path.write_text(compiled(shape, steps, weights))
                print(path, file=process.stdin, flush=True)
                answer = next((one for one in process.stdout if one.startswith("{")), None)
                path.unlink()
                if answer is None:
                    sys.exit("Airflow has ended")
                row = {"shape": shape, "steps": steps, "weights": weights, **json.loads(answer)}
                assert row["tasks"] == steps, row
                if steps not in {one[1] for one in first}:
                    yield row
            process.stdin.close()


def report(sizes: t.Sequence[int]) -> list[Row]:
    """Measure all, print the table and return its rows."""
    print(
        "shape    steps   weights     file kB  database kB"
        + "".join(f"{name:>12}" for name in FIGURES)
    )
    rows = []
    for row in measured(sizes):
        rows.append(row)
        print(
            f"{row['shape']:<8} {row['steps']:<7,} {row['weights']:<11}"
            f"{row['bytes'] / 1000:>8,.0f} {row['database'] / 1000:>12,.0f}"
            + "".join(f"{row[name]:>12.2f}" for name in FIGURES),
            flush=True,
        )
    return rows


def main() -> None:
    """Run the benchmark, or measure in Airflow's environment."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="leave out the two largest sizes")
    parser.add_argument("--sizes", type=int, nargs="+", metavar="N", help="steps of the DAGs")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the rows to a file as well")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    if not PYTHON.exists():
        print("no Airflow here: `make airflow` installs it")
        return
    rows = report(options.sizes or (SIZES[:-2] if options.quick else SIZES))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
