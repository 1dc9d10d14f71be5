"""Rules for every test: no network, no chance, and golden files that only `make goldens` writes.

With `--manifests FOLDER` what the tests make for Argo is kept there, see support/argo_record.py.
"""

from __future__ import annotations

import gc
import itertools
import os
import shutil
import signal
import socket
import sys
import typing as t
import zlib
from collections.abc import Callable, Generator
from pathlib import Path

import hypothesis
import pytest

if t.TYPE_CHECKING:
    from tests.rest.faulty_server import FaultyServer
    from tests.support.argo_cluster import EmulatedCluster
    from tests.support.argo_record import Recorder
    from tests.support.postgresql import PostgresqlServer
    from tests.support.web_site import Site

_GC_OBJECTS = 20_000

# The same examples in every run; `--hypothesis-profile=explore` looks for new ones.
_SAME: t.Any = {"derandomize": True, "database": None, "deadline": None}
hypothesis.settings.register_profile("default", max_examples=25, **_SAME)
hypothesis.settings.register_profile("nightly", max_examples=500, **_SAME)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=2000)
hypothesis.settings.load_profile("default")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-goldens", action="store_true", help="write the golden files instead of comparing"
    )
    parser.addoption(
        "--manifests", type=Path, metavar="FOLDER", help="keep all manifests for Argo there"
    )


def pytest_configure(config: pytest.Config) -> None:
    # Shells start background jobs with interrupts and quits ignored, and nohup any job with
    # hang-ups ignored, which programs under test would inherit.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    if config.getoption("--update-goldens") and os.environ.get("CI"):
        raise pytest.UsageError("--update-goldens: CI compares golden files, it never writes them")
    folder = config.getoption("--manifests")
    if folder is not None and not hasattr(config, "workerinput"):
        shutil.rmtree(folder, ignore_errors=True)


def pytest_xdist_auto_num_workers() -> int:
    """Run three tests for two processors: many wait for servers, children and clocks."""
    return -(-3 * (os.cpu_count() or 1) // 2)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the collector of garbage from modules and tests, which stay: they are most objects.

    What tests make is looked at as seldom as the command line looks at what commands make.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(_GC_OBJECTS)
        gc.enable()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Collect test modules only: looking for doctests would import, and so run, every program."""
    is_program = collection_path.suffix == ".py" and not collection_path.name.startswith("test_")
    return True if is_program else None


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that the others run beside it and none is left to wait.

    Of a test (or a file) that is sampled, all cases but one in so many are for the night. Each
    begins with another case, so that one case of the corpus is not always left out.
    """
    items.sort(key=lambda item: item.get_closest_marker("longest") is None)
    counts: dict[str, t.Iterator[int]] = {}
    for item in items:
        for node, mark in item.iter_markers_with_node("sampled"):
            what = node.nodeid.partition("[")[0]
            count = counts.setdefault(what, itertools.count(zlib.crc32(what.encode())))
            if next(count) % mark.args[0]:
                item.add_marker("nightly")
            break  # the nearest counts


@pytest.fixture(scope="session", autouse=True)
def _home(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """Keep what tests run out of the user's own folder, and numeric libraries to one thread.

    Calls that failed are made again after a twentieth of the longest wait.
    """
    from couler.rest.patience import Waits

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(t.cast("t.Any", Waits.__init__).__kwdefaults__, "draw", lambda: 0.05)
        patch.setenv("OMP_NUM_THREADS", "1")  # more wait for each other beside other tests
        patch.setenv("COULER_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(autouse=True)
def _signals() -> Generator[None]:
    """Have each test leave signals as they were: the next may send one."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)
    before = [signal.getsignal(number) for number in numbers]
    yield
    assert [signal.getsignal(number) for number in numbers] == before


@pytest.fixture(scope="session")
def _recorder(request: pytest.FixtureRequest) -> Generator[Recorder | None]:
    folder = request.config.getoption("--manifests")
    if folder is None:
        yield None
        return
    from tests.support.argo_record import Recorder

    with Recorder(folder, process=f"{os.getpid()}").installed() as recorder:
        yield recorder


@pytest.fixture(autouse=True)
def _recorded(request: pytest.FixtureRequest, _recorder: Recorder | None) -> None:
    """Keep what the test makes for Argo, if that is asked for."""
    if _recorder is not None:
        _recorder.item = request.node


@pytest.fixture(scope="session")
def _postgresql(tmp_path_factory: pytest.TempPathFactory) -> Generator[PostgresqlServer]:
    from tests.support import postgresql

    if reason := postgresql.obstacle():
        pytest.skip(reason)
    with postgresql.PostgresqlServer(tmp_path_factory.mktemp("postgresql") / "log") as server:
        yield server


@pytest.fixture
def postgresql_url(_postgresql: PostgresqlServer) -> str:
    """URL of a database of PostgreSQL, which is empty."""
    _postgresql.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public;")
    return f"postgresql://{_postgresql.address}"


@pytest.fixture(scope="session")
def oracle() -> None:
    """Skip where Argo's own code cannot be run."""
    from tests.support import argo_oracle

    if reason := argo_oracle.available():
        pytest.skip(reason)


@pytest.fixture
def box() -> None:
    """Skip where nothing can be built in the box."""
    from couler.box import isolation

    if problem := isolation().problem:
        pytest.skip(problem)


@pytest.fixture
def cluster(tmp_path: Path) -> Generator[EmulatedCluster]:
    """A cluster with the API of Kubernetes and without a controller."""
    from tests.support.argo_cluster import emulated_cluster

    with emulated_cluster(tmp_path) as cluster:
        yield cluster


@pytest.fixture
def server() -> Generator[FaultyServer]:
    """A server that answers as the test says."""
    from tests.rest.faulty_server import FaultyServer

    with FaultyServer().running() as server:
        yield server


@pytest.fixture
def site() -> Generator[Site]:
    """A server of files, which takes what is put."""
    from tests.support.http_server import serving
    from tests.support.web_site import Site

    with serving(Site()) as site:
        yield site


@pytest.fixture
def samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Install the passes of support/pass_samples.py."""
    from tests.support import pass_samples

    pass_samples.install(tmp_path / "samples")
    monkeypatch.syspath_prepend(tmp_path / "samples")
    yield
    sys.modules.pop("couler_pass_samples", None)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Compare a text with a committed file: ``golden(path, text)``. Mark the test `golden`."""
    update = request.config.getoption("--update-goldens")

    def check(path: Path, text: str) -> None:
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        assert path.is_file(), f"no golden file {path}: run `make goldens` and read what it wrote"
        expected = path.read_text(encoding="utf-8")
        assert text == expected, f"{path} differs: if that is meant, run `make goldens`"

    return check


@pytest.fixture
def measure(record_property: Callable[[str, object], None]) -> Callable[[str, str], None]:
    """Print a measured value after the run, where a limit in seconds would be a flaky test."""

    def report(what: str, value: str) -> None:
        record_property("measured", f"{what}: {value}")

    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    measured = [
        text
        for report in terminalreporter.stats.get("passed", [])
        for name, text in report.user_properties
        if name == "measured"
    ]
    for text in measured:
        terminalreporter.write_line(f"measured: {text}")


_connect = socket.socket.connect


def _connect_on_this_machine(self: socket.socket, address: object) -> None:
    if self.family in (socket.AF_INET, socket.AF_INET6):
        assert isinstance(address, tuple)
        host = str(address[0])
        if host not in ("localhost", "::1") and not host.startswith("127."):
            pytest.fail(f"this test connects to {host}, but tests are offline")
    _connect(self, address)  # type: ignore[arg-type]  # any address of any family


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Refuse connections that leave this machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", _connect_on_this_machine)
        return (yield)
