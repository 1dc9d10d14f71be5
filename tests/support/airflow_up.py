"""`make airflow-up`: a whole Airflow on this machine, for trying submissions by hand.

API server, scheduler, DAG processor and triggerer are Airflow's own. Pods run on an emulated
cluster, as processes of this machine. The target `airflow-here` of pyproject.toml leads to it.
"""

from __future__ import annotations

import sys

from tests.fakes.kubernetes.cluster import FakeCluster
from tests.support import airflow_stack
from tests.support.airflow_stack import AirflowStack
from tests.support.until_interrupt import (
    LIFETIME_S,
    empty_folder,
    refuse_used,
    wait_for_interrupt,
)

PORT = 18080

_READY = """\
Airflow is at {address}, its files in {folder}
In another terminal:
    couler submit examples/model_selection/model_selection.py --target airflow-here --watch
Ctrl-C ends it.
"""


def main() -> None:
    """Start Airflow and keep it until an interrupt."""
    if reason := airflow_stack.obstacle():
        sys.exit(reason)
    refuse_used(PORT)
    folder = empty_folder("airflow")
    sys.stderr.write("starting Airflow; this takes about half a minute\n")
    with (
        FakeCluster(folder / "cluster", lifetime_s=LIFETIME_S) as cluster,
        AirflowStack(folder, cluster, port=PORT) as stack,
    ):
        sys.stdout.write(_READY.format(address=stack.address, folder=folder))
        sys.stdout.flush()
        wait_for_interrupt()


if __name__ == "__main__":
    main()
