"""What images of steps are built of, and how steps name them."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from couler.backends.base import Target
from couler.cli import app
from couler.ir.cachekey import definition_digest
from couler.ir.workflow import Script, Workflow
from couler.packages import default_image, fits
from couler.stages import compile, plan
from couler.stages.images import step_images
from couler.stages.programs import load_program

FLOW = """
import couler
import shop

@couler.step(image="auto", packages=["Click[x]", "not-here>=1"])
def first() -> int:
    return shop.SIZE

@couler.step
def second(x: int) -> int:
    return x

@couler.step(image="own", packages=["click"])
def third(x: int) -> int:
    return x

with couler.Workflow("w", defaults=couler.StepDefaults(packages="requirements.txt", image="auto")):
    third(second(first()))
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flow.py").write_text(FLOW)
    (tmp_path / "shop.py").write_text("SIZE = 1\n")
    (tmp_path / "requirements.txt").write_text("click\n")
    (tmp_path / "pyproject.toml").write_text("")
    return tmp_path


def actions(workflow: Workflow) -> list[Script]:
    return [one.action for one in workflow.steps if isinstance(one.action, Script)]


def test_there_is_an_image_for_each_set_of_packages(project: Path) -> None:
    workflow = load_program("flow.py").workflow
    first, second = step_images(workflow, with_code=True)
    assert (first.steps, second.steps) == (("first",), ("second",))
    requirements = first.files["requirements.txt"].decode().splitlines()
    assert requirements[0].startswith("click[x]==")
    assert requirements[-1] == "not-here>=1"
    assert first.files["code/shop.py"] == b"SIZE = 1\n"
    assert first.files["Dockerfile"].decode().splitlines() == [
        f"FROM {default_image()}",
        "COPY requirements.txt /tmp/requirements.txt",
        "RUN python -m pip install --no-cache-dir -r /tmp/requirements.txt",
        "COPY code /couler/code",
        "ENV PYTHONPATH=/couler/code",
    ]
    without, _ = step_images(workflow, with_code=False)
    assert set(without.files) == {"Dockerfile", "requirements.txt"}


def test_a_lock_pins_versions(project: Path) -> None:
    lock = '[[package]]\nname = "{}"\nversion = "8.1.5"\n'
    (project / "uv.lock").write_text("".join(map(lock.format, ("click", "colorama", "pywin32"))))
    windows = "pywin32; sys_platform == 'win32'\n"
    (project / "requirements.txt").write_text(f"click\n{windows}")
    workflow = load_program("flow.py").workflow
    _, second = step_images(workflow, with_code=False)
    assert second.files["requirements.txt"].decode() == f"click==8.1.5\n{windows}"


LOCK = """
[[package]]
name = "click"
version = "8.1.5"
source = { registry = "https://pypi.org/simple" }
[[package]]
name = "kit"
version = "1.0"
source = { git = "https://git.example.com/kit?subdirectory=py&rev=main#0a1b" }
[[package]]
name = "tool"
version = "1.0"
source = { git = "https://git.example.com/tool?rev=main#0a1b" }
[[package]]
name = "wheel-kit"
version = "1.0"
source = { url = "https://example.com/wheel_kit-1.0.whl" }
[[package]]
name = "inner"
version = "2.0+cpu"
source = { registry = "https://pypi.example.com/simple" }
[[package]]
name = "unused"
version = "1"
source = { registry = "https://unused.example.com/simple" }
"""


def test_locked_packages_come_from_where_the_lock_says(project: Path) -> None:
    (project / "uv.lock").write_text(LOCK)
    (project / "requirements.txt").write_text(
        "click<8\ninner<1; os_name == 'nt'\nkit[x]\ntool==1.0\nwheel_kit\ninner\n"
    )
    _, second = step_images(load_program("flow.py").workflow, with_code=False)
    assert second.files["requirements.txt"].decode().splitlines() == [
        "--extra-index-url https://pypi.example.com/simple",
        "click<8  # not 8.1.5, which is locked or installed",
        "inner==2.0+cpu",
        "kit[x] @ git+https://git.example.com/kit@0a1b#subdirectory=py",
        "tool @ git+https://git.example.com/tool@0a1b",
        "wheel-kit @ https://example.com/wheel_kit-1.0.whl",
    ]
    dockerfile = second.files["Dockerfile"].decode()
    assert dockerfile.index("install -y --no-install-recommends git") < dockerfile.index("pip")


@pytest.mark.parametrize(
    ("requirement", "fitting", "unfitting"),
    [
        ("a", "1 2rc1", ""),
        ("a<2", "1.26.4 1", "2 2.0 2.4.6 2.0rc1"),
        ("a>=1.10,<=2", "1.10 1.10.1 2.0.0", "1.9 2.0.1"),
        ("a>1", "1.1", "1.0 0.9"),
        ("a==1.4.*", "1.4 1.4.9", "1.40 1.5 1"),
        ("a != 1.4.*", "1.5 1", "1.4.0"),
        ("a[x]~=1.4.2", "1.4.2 1.4.10+cpu", "1.5 1.4.1"),
        ("a (~=1.4)", "1.4 1.9", "1.3 2"),
        ("a!=1.4; python_version < '4'", "1.4.1", "1.4 1.4.0"),
        ("a===1.4", "1.4", "1.5"),
        ("a @ https://example.com/a-1.0.whl", "", "1.0"),
    ],
)
def test_versions_are_compared_with_requirements(
    requirement: str, fitting: str, unfitting: str
) -> None:
    versions = [*fitting.split(), *unfitting.split()]
    assert [one for one in versions if fits(one, requirement)] == fitting.split()


@pytest.mark.parametrize("lock", ["package = [", "package = 1", "[[package]]\nversion = '1'\n"])
def test_a_broken_lock_is_named(lock: str, project: Path) -> None:
    (project / "uv.lock").write_text(lock)
    result = CliRunner().invoke(app, ["image", "flow.py"])
    assert (result.exit_code, f"{project / 'uv.lock'}: " in result.output) == (3, True)


@pytest.mark.parametrize(
    ("imports", "advice"),
    [
        ("shop", "does not have. Name an image that does. The image must have modules of"),
        ("shop, yaml", 'packages=["PyYAML"], or name an image that does. The image must have'),
    ],
)
def test_modules_of_the_project_are_no_packages(imports: str, advice: str, project: Path) -> None:
    step = f"@couler.step\ndef a() -> int:\n    import {imports}\n    return shop.SIZE\n"
    flow = f'import couler\n{step}\nwith couler.Workflow("w"):\n    a()\n'
    (project / "flow.py").write_text(flow)
    options = ("-e", "argo", "--option", "code=image")
    assert advice in CliRunner().invoke(app, ["validate", "flow.py", *options]).output


@pytest.mark.parametrize("engine", ["argo", "airflow"])
def test_steps_name_the_image_of_their_packages(engine: str, project: Path) -> None:
    told = CliRunner().invoke(app, ["image", "flow.py", "--name", "team/x", "--code"]).output
    builds = [line.split() for line in told.splitlines() if line.startswith("docker build")]
    assert all((project / words[4] / "Dockerfile").is_file() for words in builds)
    loaded = load_program("flow.py")
    target = Target(options={"image": "team/x", "code": "image"})
    planned = plan(loaded, engine=engine, target=target)
    named = actions(planned.workflow)
    assert [one.image for one in named] == [*(words[3] for words in builds), "own"]
    assert [one.to_install for one in named] == [(), (), ("click",)]
    assert planned.workflow.code == ()
    keys = [definition_digest(one, {}) for one in planned.workflow.steps]
    assert keys == [definition_digest(one, {}) for one in loaded.workflow.steps]
    text = compile(planned, engine, target=target).to_text()
    assert "pip install" in text or "with_packages(" in text
    (project / "shop.py").write_text("SIZE = 2\n")
    other = plan(load_program("flow.py"), engine=engine, target=target)
    changed = [definition_digest(one, {}) for one in other.workflow.steps]
    assert [new != old for new, old in zip(changed, keys, strict=True)] == [True, False, False]


def test_the_target_says_what_images_are_called(project: Path) -> None:
    result = CliRunner().invoke(app, ["validate", "flow.py", "-e", "argo"])
    assert result.output.count("CLR305 error") == 2
