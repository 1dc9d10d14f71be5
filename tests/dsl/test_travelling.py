"""Which files travel beside modules: data of packages, whole folders, and never secrets."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from couler.cli.load import Source, load
from couler.stages import diagnose
from couler.stages.programs import Loaded

KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n"
FLOW = """
import couler
import shop

@couler.step
def work() -> int:
    return shop.SIZE

with couler.Workflow("w"):
    work()
"""
FILES = {
    "pyproject.toml": "",
    "flow.py": FLOW,
    ".gitignore": "*.tmp\n/shop/cache/\n",
    ".env": "TOKEN=1\n",
    "shop/__init__.py": "SIZE = 1\n",
    "shop/unused.py": "",
    "shop/data/a.txt": "a",
    "shop/data/b.tmp": "b",
    "shop/data/.gitignore": "c.*\n",
    "shop/data/c.txt": "c",
    "shop/cache/d.txt": "d",
    "shop/.env": "TOKEN=1\n",
    "shop/deploy": f"Subject: deploy\n{KEY}",
    "shop/prod.env": "TOKEN=1\n",
    "shop/app-secrets.yaml": "token: 1\n",
    "shop/keys/server.pem": "x",
    "shop/.aws/credentials": "x",
    "shop/venv/pyvenv.cfg": "",
    "shop/venv/x.txt": "x",
    "shop/__pycache__/x.pyc": "x",
    "plugins/first.py": "SIZE = 2\n",
    "plugins/table.csv": "1",
    "plugins/.env.local": "x",
}


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    yield tmp_path
    sys.modules.pop("shop", None)


def loaded(project: Path, code_paths: str = "[]") -> Loaded:
    (project / "pyproject.toml").write_text(f"[tool.couler]\ncode_paths = {code_paths}\n")
    found = load(Source(str(project / "flow.py")))
    assert isinstance(found, Loaded)
    return found


def told(program: Loaded) -> list[tuple[str, str]]:
    return [(one.code, one.message) for one in diagnose(program, ["argo"])]


def test_data_of_packages_travels_and_secrets_do_not(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    program = loaded(project)
    assert [one.path for one in program.workflow.code] == ["shop/__init__.py", "shop/data/a.txt"]
    [(code, message)] = told(program)
    assert code == "CLR147"
    named = {name.strip() for name in message.partition(":")[0].split(",")}
    assert named == {
        "shop/.env",
        "shop/deploy",
        "shop/keys/server.pem",
        "shop/.aws",
        "shop/prod.env",
        "shop/app-secrets.yaml",
    }


def test_a_package_around_folders_without_init_travels(project: Path) -> None:
    (project / "shop" / "sub").mkdir()
    (project / "shop" / "sub" / "far.py").write_text("SIZE = 1\n")
    (project / "flow.py").write_text(
        FLOW.replace("import shop", "from shop.sub import far as shop")
    )
    paths = [one.path for one in loaded(project).workflow.code]
    assert paths == ["shop/__init__.py", "shop/data/a.txt", "shop/sub/far.py"]


def test_linked_folders_travel(project: Path) -> None:
    (project / "tables").mkdir()
    (project / "tables" / "t.csv").write_text("1")
    (project / "shop" / "tables").symlink_to(project / "tables")
    (project / "shop" / "again").symlink_to(project / "shop")
    paths = [one.path for one in loaded(project).workflow.code]
    assert paths == ["shop/__init__.py", "shop/data/a.txt", "shop/tables/t.csv"]


def test_links_out_of_the_project_or_to_secrets_do_not_travel(
    project: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    outside = tmp_path_factory.mktemp("outside")
    (outside / "a.txt").write_text("a")
    (project / ".kube").mkdir()
    for name in (".kube/config", "plugins/prod.tfvars"):
        (project / name).write_text("x")
    for name, target in (
        ("far.txt", outside / "a.txt"),
        ("far", outside),
        ("far.tmp", outside / "a.txt"),  # .gitignore names it
        ("conf", project / ".kube" / "config"),
        ("kube", project / ".kube"),
        ("vars", project / "plugins" / "prod.tfvars"),
    ):
        (project / "shop" / name).symlink_to(target)
    program = loaded(project)
    assert [one.path for one in program.workflow.code] == ["shop/__init__.py", "shop/data/a.txt"]
    [(_, message)] = told(program)
    named = {name.strip() for name in message.partition(":")[0].split(",")}
    assert {one for one in named if Path(one).is_symlink()} == {
        f"shop/{one}" for one in ("far.txt", "far", "conf", "kube", "vars")
    }
    assert "a link leads out of the project" in message


PRIVATE = (
    "oauth_client_secret_123.json aws_credentials_prod.json credentials_prod.json passwords.csv "
    "secrets_prod.yaml secrets.local.yaml prod.tfvars terraform.tfstate vault.yml _netrc "
    "id_rsa.bak env.prod kube.config rclone.conf apikey.txt api_key.json secrets/a.txt my.gpg.asc"
)
PLAIN = (
    "id_rsa.pub id_rsa.py secretary.json passwords.py vault.py env.yaml environment.yml rclone.py "
    "keys.csv secrets.py tokens.txt secret_garden.txt"
)


@pytest.mark.parametrize(
    ("names", "is_private"), [(PRIVATE, True), (PLAIN, False)], ids=["private", "plain"]
)
def test_private_files_are_known_by_name_or_content(
    names: str, is_private: bool, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    for name in [*names.split(), ".idea/a.txt", ".terraform/a.txt"]:
        (project / "plugins" / name).parent.mkdir(exist_ok=True)
        (project / "plugins" / name).write_text(
            "-----BEGIN PGP PRIVATE KEY BLOCK-----\n" * name.endswith(".asc")
        )
    program = loaded(project, '["plugins"]')
    paths = {one.path for one in program.workflow.code} & {*names.split()}
    message = told(program)[0][1]
    named = {one for one in names.split() if f"plugins/{one.partition('/')[0]}" in message}
    private = {*names.split()} if is_private else set()
    assert (paths, named) == ({*names.split()} - private, private)
    assert ".idea" not in message
    assert not [one.path for one in program.workflow.code if one.path[0] == "."]


@pytest.mark.parametrize(
    ("name", "is_named"), [("local_settings", True), ("_version", False), ("other", False)]
)
def test_a_module_that_gitignore_names_travels_and_is_named(
    name: str, is_named: bool, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    (project / "shop" / ".gitignore").write_text("local_*.py\n_version.py\n")
    (project / "shop" / f"{name}.py").write_text("SIZE = 1\n")
    (project / "flow.py").write_text(FLOW.replace("import shop", f"import shop.{name}"))
    program = loaded(project)
    assert f"shop/{name}.py" in [one.path for one in program.workflow.code]
    messages = [message for code, message in told(program) if ".gitignore names" in message]
    assert [one.startswith("shop/local_settings.py") for one in messages] == [True] * is_named


@pytest.mark.parametrize(
    ("text", "is_known"),
    [
        ("import importlib\ndef get(n): return importlib.import_module(f'plugs.{n}')\n", False),
        ("def get(n): return __import__(n)\n", False),
        ("import pkgutil\ndef get(n): return [*pkgutil.iter_modules(n)]\n", False),
        ("from pkgutil import walk_packages\ndef get(n): return [*walk_packages(n)]\n", False),
        ("import importlib\ndef get(n): return importlib.import_module('json')\n", True),
    ],
)
@pytest.mark.parametrize("code_paths", ["[]", '["plugins"]'])
@pytest.mark.parametrize("is_module", [True, False])
def test_modules_whose_names_only_the_run_knows_are_warned_about(
    text: str, is_known: bool, code_paths: str, is_module: bool, project: Path
) -> None:
    if is_module:
        (project / "shop" / "__init__.py").write_text(text)
        flow = FLOW.replace("shop.SIZE", "shop.get(1)")
    else:
        flow = FLOW.replace("import shop\n", text).replace("shop.SIZE", "get(1)")
    (project / "flow.py").write_text(flow)
    messages = [message for code, message in told(loaded(project, code_paths)) if code == "CLR149"]
    assert len(messages) == (not is_known and code_paths == "[]")
    assert all("code_paths" in one for one in messages)


WRONG = {
    "a module of secrets": ("aws_credentials", "KEY = 1\n", "CLR147", "aws_credentials.py"),
    "a module that is no Python": ("broken", "\ndef f(:\n", "CLR146", "broken.py:2)"),
    "data beside a module": ("words", "import os\nos.path.dirname(__file__)\n", "CLR149", "words"),
    "a name of a block that builds": (
        "building",
        "import couler\nwith couler.Workflow('w'):\n    SIZE = 1\ndef use(): return SIZE\n",
        "CLR122",
        "building.SIZE",
    ),
}


@pytest.mark.parametrize(("module", "text", "code", "word"), WRONG.values(), ids=list(WRONG))
def test_what_a_module_cannot_bring_is_named(
    project: Path, module: str, text: str, code: str, word: str
) -> None:
    (project / f"{module}.py").write_text(text)
    (project / "flow.py").write_text(
        FLOW.replace("import shop\n", "").replace(
            "return shop.SIZE", f"import {module}\n    return {module}.use()"
        )
    )
    program = load(Source(str(project / "flow.py")))
    [message] = [one.message for one in diagnose(program, ["argo"]) if one.code == code]
    assert word in message


def test_folders_travel_whole(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    program = loaded(project, '["plugins"]')
    paths = [one.path for one in program.workflow.code]
    assert paths == ["first.py", "shop/__init__.py", "shop/data/a.txt", "table.csv"]
    assert "plugins/.env.local" in told(program)[0][1]


@pytest.mark.parametrize(
    ("code_paths", "reason"),
    [
        ("3", "tool.couler.code_paths is 3; it must be a list"),
        ('"plugins"', 'tool.couler.code_paths is "plugins"; it must be a list'),
        ("['plugins', 1]", "tool.couler.code_paths[1] is 1; it must be a text"),
        ("['plugins', 'nope']", "tool.couler.code_paths: there is no folder {}/nope"),
        ("['flow.py']", "tool.couler.code_paths: there is no folder {}/flow.py"),
    ],
)
def test_folders_that_travel_must_be_there(project: Path, code_paths: str, reason: str) -> None:
    told_of = dict(told(loaded(project, code_paths)))
    assert f"{project}/pyproject.toml:2: {reason.format(project)}" in told_of["CLR105"]


def test_large_data_is_refused_by_name_within_two_seconds(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    (project / "id_rsa").write_text(KEY)
    (project / "data").mkdir()
    with open(project / "data" / "rows.bin", "wb") as file:
        os.truncate(file.fileno(), 2 * 1024**3)
    before = time.process_time()
    assert [one.path for one in loaded(project).workflow.code] == [
        "shop/__init__.py",
        "shop/data/a.txt",
    ]
    program = loaded(project, '["."]')
    codes = dict(told(program))
    assert time.process_time() - before < 2
    assert program.workflow.code == ()
    assert "data/rows.bin" in codes["CLR148"]
    assert {".env", "id_rsa"} <= {
        one.strip() for one in codes["CLR147"].partition(":")[0].split(",")
    }
