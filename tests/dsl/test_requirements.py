"""Packages of steps from files, and the packages and caches that a workflow gives to all steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from couler.ir.workflow import Container, Script
from couler.packages import applies
from couler.stages.programs import Loaded, load_program

FILES = {
    "requirements.txt": "# of the project\nnumpy >=2  # arrays\n\n-r more.txt\n",
    "more.txt": 'pandas==2.2.0 \\\n  --hash=sha256:0 --hash=sha256:1\nxx ; python_version < "3"\n',
    "pyproject.toml": '[project]\nname = "p"\ndependencies = ["numpy>=2", "pandas"]\n',
    "uv.lock": (
        '[[package]]\nname = "p"\nversion = "0"\nsource = { editable = "." }\n'
        '[[package]]\nname = "numpy"\nversion = "2.1"\nsource = { registry = "x" }\n'
    ),
    "pylock.toml": '[[packages]]\nname = "numpy"\nversion = "2.2"\n',
    "empty.toml": "[tool.x]\ny = 1\n",
    "options.txt": "--index-url x\n",
    "bom.txt": "\ufeffnumpy\n",
    "bom.toml": '\ufeff[project]\ndependencies = ["numpy"]\n',
    "circle.txt": "-r ./sub/../circle.txt\nnumpy\n-r circle.txt\n",
    "outer.txt": "numpy\n-r lacking.txt\n",
    "local.txt": "numpy\n./local\n",
    "comments.txt": "# none\n",
    "text.toml": '[project]\ndependencies = "numpy"\n',
    "number.toml": '[project]\ndependencies = ["numpy", 1]\n',
    "dynamic.toml": '[project]\ndynamic = ["dependencies"]\n',
    "none.lock": '[[package]]\nname = "p"\n',
    "number.lock": "package = 1\n",
    "nameless.lock": '[[package]]\nversion = "1"\n',
    "broken.lock": "package = [\n",
    "two.lock": '[[package]]\nname = "a"\nversion = "1"\n[[package]]\nname = "a"\nversion = "2"\n',
    "forks.lock": """
[[package]]
name = "numpy"
version = "1"
resolution-markers = ["python_full_version < '3.10'", "sys_platform == 'win32'"]
[[package]]
name = "numpy"
version = "2"
resolution-markers = ["python_full_version == '3.9.*'", "sys_platform != 'win32'"]
[[package]]
name = "p"
source = { editable = "." }
dependencies = [{ name = "pywin32", marker = "sys_platform == 'win32'" }, { name = "numpy" }]
[[package]]
name = "pywin32"
version = "3"
""",
    "poetry.lock": """
[[package]]
name = "numpy"
version = "2"
markers = { main = "sys_platform == 'linux'", dev = "sys_platform == 'win32'" }
[package.dependencies]
colorama = { version = "*", markers = "sys_platform == 'win32'" }
[[package]]
name = "colorama"
version = "1"
markers = "sys_platform == 'win32'"
[[package]]
name = "p"
version = "1"
source = { type = "directory", url = "." }
""",
}


def loaded(folder: Path, packages: object, defaults: str = "") -> Loaded:
    for name, text in FILES.items():
        (folder / name).write_text(text)
    (folder / "flow.py").write_text(
        f"""
import couler

@couler.step(packages={packages!r}, cache=False)
def typed() -> int:
    return 1

with couler.Workflow("w", defaults=couler.StepDefaults({defaults})):
    typed()
    couler.run_script(source="1", step_name="script")
    couler.run_container("busybox", ["true"], step_name="container")
"""
    )
    return load_program(str(folder / "flow.py"))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("requirements.txt", ("numpy >=2", "pandas==2.2.0", 'xx ; python_version < "3"')),
        ("pyproject.toml", ("numpy>=2", "pandas")),
        ("uv.lock", ("numpy==2.1",)),
        ("pylock.toml", ("numpy==2.2",)),
        (["requests", "pylock.toml"], ("requests", "numpy==2.2")),
        ("bom.txt", ("numpy",)),
        ("bom.toml", ("numpy",)),
        ("circle.txt", ("numpy",)),
        ("forks.lock", ("numpy==2",)),
        ("poetry.lock", ("numpy==2",)),
        *(
            (one, (one,))
            for one in ("ruamel.yaml", "a[x,y] >1; extra == 'z'", "a @ https://b/c.whl")
        ),
        ("git+https://example.org/a@main", ("git+https://example.org/a@main",)),
    ],
)
def test_packages_of_files(given: object, expected: tuple[str, ...], tmp_path: Path) -> None:
    program = loaded(tmp_path, given)
    assert program.diagnostics == ()
    action = program.workflow.steps[0].action
    assert isinstance(action, Script)
    assert action.packages == expected


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("none.txt", "none.txt: No such file"),
        ("empty.toml", "empty.toml: it states no packages"),
        ("options.txt", "options.txt: pip's option --index-url is not taken here"),
        ("outer.txt", "packages: {}/lacking.txt: No such file"),
        ("comments.txt", "comments.txt: it states no packages"),
        ("text.toml", 'text.toml:2: project.dependencies is "numpy"; it must be a list'),
        ("number.toml", "number.toml:2: project.dependencies[1] is 1; it must be a text"),
        ("dynamic.toml", "it states no packages. Name the file that does"),
        ("none.lock", "none.lock: it states no packages"),
        ("number.lock", "number.lock: it is no lock file"),
        ("nameless.lock", "nameless.lock: it is no lock file: KeyError('name')"),
        ("broken.lock", "broken.lock: "),
        ("two.lock", "two.lock: a has two versions for Linux, 1 and 2"),
        ("local.txt", 'local.txt: "./local" is no package. Write requirements'),
        *(
            (one, "is no package. Write")
            for one in ("environment.yml", "setup.cfg", "./local", "-e .")
        ),
    ],
)
def test_files_that_state_none(given: str, told: str, tmp_path: Path) -> None:
    [problem] = loaded(tmp_path, given).diagnostics
    assert (problem.code, told.format(tmp_path) in problem.message) == ("CLR105", True)


@pytest.mark.parametrize(
    ("marker", "expected"),
    [
        ("", True),
        ("sys_platform == 'win32' or os_name=='posix'", True),
        (
            "'linux' == sys_platform and (python_version < '3.9' or platform_system == 'Darwin')",
            False,
        ),
        ("python_version >= '3.9' and python_full_version ~= '3.10'", True),
        ("python_full_version == '3.*'", True),
        ("python_full_version != '3.*'", False),
        ("platform_machine in 'AMD64 x86_64'", True),
        ("platform_machine not in 'AMD64 x86_64'", False),
        ("extra == 'x'", False),
        ("'test' in dependency_groups", False),
        ("what is this", True),
    ],
)
def test_environment_markers_are_those_of_linux(marker: str, expected: bool) -> None:
    assert applies(f"a>=1 ; {marker}") == expected


def test_files_of_notebooks_are_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pylock.toml").write_text(FILES["pylock.toml"])
    flow = 'couler.Workflow("w", defaults=couler.StepDefaults(packages="pylock.toml"))'
    cell = f'import couler\nwith {flow} as wf:\n    couler.run_script(source="1", step_name="a")\n'
    found: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(cell, "/tmp/ipykernel_1/2.py", "exec"), found)
    assert found["wf"].to_ir().steps[0].action.packages == ("numpy==2.2",)


def test_packages_and_caches_for_all_steps(tmp_path: Path) -> None:
    program = loaded(tmp_path, None, 'packages="pylock.toml", cache="1h"')
    assert program.diagnostics == ()
    packages = [getattr(one.action, "packages", ()) for one in program.workflow.steps]
    assert packages == [("numpy==2.2",), ("numpy==2.2",), ()]
    caches = [one.cache and one.cache.max_age_s for one in program.workflow.steps]
    assert caches == [None, 3600, 3600]
    assert isinstance(program.workflow.steps[2].action, Container)
