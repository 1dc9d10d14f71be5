"""What goes wrong on the way to an engine: each fault ends in one message, an exit code, a recorded
state, and a submission that can be repeated.

The servers are emulated, the connections are real. `docs/running-elsewhere.md` has the same table.
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from couler.state import RunStatus
from tests.cli.conftest import Outcome
from tests.fakes.argo.faults import Fault
from tests.fakes.argo.server import ArgoServer
from tests.fakes.kubernetes.faults import RequestFault
from tests.rest.faulty_server import cut as cut_off, half, says
from tests.support.airflow_api import FakeAirflow, Fault as AirflowFault
from tests.support.argo_cluster import EmulatedCluster, emulated_cluster

_PAGE = Path(__file__).parents[2] / "docs" / "running-elsewhere.md"


@dataclass(frozen=True)
class Case:
    """A fault of a server, and what is made of it."""

    name: str
    """As the documentation says it."""
    fault: dict[str, t.Any]
    message: str
    """A regular expression for the error."""
    status: RunStatus = "failed"
    """Of the run, as it is recorded; it runs as far as is known where nobody knows."""


UNKNOWN = r"\nit is not known whether the engine has it; `couler retry mine` submits it again"
CASES = (
    Case(
        "401",
        {"code": 401},
        r"refused with 401: no\. (Give the target a token that is valid|What the context "
        r'".+" of .+ gives to get in is not taken: renew it, or choose another context)$',
    ),
    Case("403", {"code": 403}, r"refused with 403: no\. The account of the token may not do this$"),
    Case(
        "404",
        {"code": 404},
        r"refused with 404: no(\. Is there a namespace default, and is Argo installed there\?)?$",
    ),
    Case("409", {"code": 409}, r"409|has a Workflow mine already"),
    Case("410", {"code": 410}, r"refused with 410: no$"),
    Case("422", {"code": 422}, r"was refused: no$|refused with 422: no$"),
    Case("429", {"code": 429}, rf"refused with 429: no{UNKNOWN}", "running"),
    Case(
        "429 with `Retry-After`",
        {"code": 429, "retry_after": "3600"},
        rf"refused with 429: no{UNKNOWN}",
        "running",
    ),
    Case("500", {"code": 500}, rf"refused with 500: no{UNKNOWN}", "running"),
    Case("503", {"code": 503}, rf"refused with 503: no{UNKNOWN}", "running"),
    Case("no answer in time", {"slow": True}, rf"got no answer: .+{UNKNOWN}", "running"),
    Case("half an answer", {"cut": "within"}, rf"got no answer: .+{UNKNOWN}", "running"),
    Case(
        "a connection that is cut before",
        {"cut": "before"},
        rf"got no answer: .+{UNKNOWN}",
        "running",
    ),
    Case(
        "a connection that is cut after",
        {"cut": "after"},
        rf"got no answer: .+{UNKNOWN}",
        "running",
    ),
)


class Cluster:
    """Argo behind the Kubernetes API."""

    def __init__(self, cluster: EmulatedCluster) -> None:
        self._cluster = cluster
        self.settings = f"""engine = "argo"\nkubeconfig = "{cluster.kubeconfig}"\n"""

    def fail(self, *, slow: bool = False, **fault: t.Any) -> None:
        """Let creations of runs go wrong."""
        given = {"cut": "never"} if slow else fault
        self._cluster.faults.add(RequestFault("POST", "/workflows", message="no", **given))

    def mend(self) -> None:
        """Let them go well again."""
        self._cluster.faults.clear()

    def count(self) -> int:
        """Return how many runs there are."""
        return len(self._cluster.objects("Workflow"))


class Server:
    """Argo behind an Argo Server."""

    def __init__(self, server: ArgoServer) -> None:
        self._server = server
        self.settings = f"""engine = "argo"\nserver = "{server.address}"\n"""

    def fail(self, *, slow: bool = False, **fault: t.Any) -> None:
        """Let creations of runs go wrong."""
        delay_s = 3.0 if slow else 0.0
        self._server.faults.add(
            Fault("/workflows/", "POST", message="no", delay_s=delay_s, **fault)
        )

    def mend(self) -> None:
        """Let them go well again."""
        self._server.faults.clear()

    def count(self) -> int:
        """Return how many runs there are."""
        return len(self._server.service.list("default", {})["items"] or ())


class Airflow:
    """An Airflow."""

    def __init__(self, airflow: FakeAirflow) -> None:
        self._airflow = airflow
        self.settings = f"""engine = "airflow"
address = "{airflow.address}"
dags = "{airflow.folder}"
"""

    def fail(
        self,
        *,
        slow: bool = False,
        code: int = 0,
        retry_after: str | None = None,
        cut: str | None = None,
    ) -> None:
        """Let creations of runs go wrong."""
        if slow:
            answer = self._airflow.silent
        elif cut is not None:
            answer = half(b'{"dag_run_id": "m') if cut == "within" else cut_off
        else:
            headers = {} if retry_after is None else {"Retry_After": retry_after}
            answer = says(code, {"detail": "no"}, **headers)
        done = cut in ("within", "after")
        self._airflow.faults = [AirflowFault("POST", "/dagRuns", answer, times=1 << 30, after=done)]

    def mend(self) -> None:
        """Let them go well again."""
        self._airflow.faults = []

    def count(self) -> int:
        """Return how many runs there are."""
        return len(self._airflow.runs)


Place: t.TypeAlias = Cluster | Server | Airflow


PLACES = ("the Kubernetes API", "an Argo Server", "Airflow")
EVERYWHERE = ("401", "404", "429", "500", "no answer in time", "a connection that is cut after")
"""The faults that are tried at every place; all others are answered by one client."""


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    folder = tmp_path / "dags"
    folder.mkdir()
    if request.param == "the Kubernetes API":
        with emulated_cluster(tmp_path) as cluster:
            yield Cluster(cluster)
    elif request.param == "an Argo Server":
        with ArgoServer() as server:
            yield Server(server)
    else:
        with FakeAirflow(folder, dag_id="greet").running() as airflow:
            yield Airflow(airflow)


@pytest.mark.parametrize(
    ("place", "case"),
    [
        pytest.param(place, case, id=f"{place}-{case.name}")
        for place in PLACES
        for case in CASES
        if place == PLACES[0] or case.name in EVERYWHERE
    ],
    indirect=["place"],
)
def test_a_fault(
    couler: Callable[..., Outcome],
    greet: str,
    write: Callable[[str, str], str],
    place: Place,
    case: Case,
) -> None:
    # Elsewhere a busy machine must not make answers late: then it would not be known either.
    timeout_s = 0.5 if "slow" in case.fault else 20.0
    times = f"timeout_s = {timeout_s}\npatience_s = 0.1\n"
    write("pyproject.toml", f"[tool.couler.targets.there]\n{place.settings}{times}")
    submit = ("submit", greet, "--target", "there", "--name", "mine", "-q")
    place.fail(**case.fault)
    told = couler(*submit)
    assert told.code == 4
    assert told.out == ""
    assert told.err.startswith("error: ")
    assert told.err.count("error: ") == 1
    assert re.search(case.message, told.err.rstrip("\n")), told.err
    [run] = couler("list", "--format", "json").json["runs"]
    assert run["status"] == case.status
    assert place.count() <= 1
    place.mend()
    again = couler(*submit)
    assert (again.code, again.out) == (0, "mine\n")
    assert place.count() == 1
    [run] = couler("list", "--format", "json").json["runs"]
    assert run["status"] == "running"


@pytest.mark.checkout
def test_the_page_has_the_faults() -> None:
    text = _PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+?) \| (failed|not known) \|$", text, re.MULTILINE)
    told = {name: state for names, state in rows for name in names.split(", ")}
    assert told == {
        case.name: "failed" if case.status == "failed" else "not known" for case in CASES
    }
