"""Loads a DAG file in Airflow: the program of a process of Airflow's own environment."""

import importlib
import json
import sys
import traceback
from pathlib import Path
from typing import Any

NEEDED = {
    "airflow": "apache-airflow",
    "airflow.providers.cncf.kubernetes": "apache-airflow-providers-cncf-kubernetes",
    "airflow.providers.standard": "apache-airflow-providers-standard",
}
"""The packages that DAG files import, and the distributions that bring them."""


def missing() -> list[str]:
    """Return the distributions that are not installed."""
    found = []
    for package, distribution in NEEDED.items():
        try:
            importlib.import_module(package)
        except ModuleNotFoundError:
            found.append(distribution)
    return found


def load(file: Path) -> dict[str, Any]:
    """Return what Airflow makes of a file; no database is needed for that."""
    import airflow

    bag = _dag_bag()(str(file))
    errors = [_last_words(text, file) for text in bag.import_errors.values()]
    for dag in bag.dags.values():
        try:
            _read_back(dag)
        except Exception as error:  # noqa: BLE001 - whatever it is, Airflow cannot keep the DAG
            errors.append("".join(traceback.format_exception_only(error)).strip())
    return {"version": airflow.__version__, "errors": errors, "dags": sorted(bag.dags)}


def _dag_bag() -> Any:
    try:
        from airflow.dag_processing.dagbag import DagBag
    except ImportError:  # before 3.2
        from airflow.models.dagbag import DagBag
    return DagBag


def _read_back(dag: Any) -> None:
    """Write a DAG as the processor of DAG files does, and read it as the scheduler does."""
    from airflow.serialization import serialized_objects

    found = getattr(serialized_objects, "DagSerialization", None)  # since 3.2
    found = found or serialized_objects.SerializedDAG
    found.from_dict(json.loads(json.dumps(found.to_dict(dag))))


def _last_words(text: str, file: Path) -> str:
    """Return the error of a traceback, and the last line of the file that is in it."""
    lines = text.strip().splitlines()
    place = f'File "{file}", line '
    numbers = [line.partition(place)[2].partition(",")[0] for line in lines if place in line]
    where = f" (line {numbers[-1]})" if numbers else ""
    frames = [at for at, line in enumerate(lines[:-1]) if line.startswith("  ")]
    words = " ".join(lines[frames[-1] + 1 :] if frames else lines[-1:])
    return f"{words}{where}"


def main() -> None:
    """Write the answer."""
    file, answer = map(Path, sys.argv[1:])
    lacking = missing()
    found = {"missing": lacking} if lacking else {"missing": [], **load(file)}
    answer.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
