"""Modules of the project that steps import: they travel, and count for keys where they are used."""

from __future__ import annotations

import sys
import textwrap
import zipfile
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path

import pytest

from couler.ir.cachekey import definition_digest
from couler.ir.imports import reads_of
from couler.ir.workflow import Script
from couler.modules import project_modules
from couler.packages import default_image
from couler.stages import compile, diagnose
from couler.stages.programs import Loaded, load_program

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file of the project: ``write("lib/area.py", "text")``."""

    def write_file(name: str, text: str = "") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    return write_file


@pytest.fixture
def visible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which every Python of this machine looks for modules."""
    (tmp_path / "lib").mkdir()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "lib"))
    monkeypatch.syspath_prepend(str(tmp_path / "lib"))
    return tmp_path / "lib"


def program(write: Write, body: str, options: str = "", name: str = "flow.py") -> Loaded:
    """Load a program of one step with a body."""
    lines = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    return load_program(
        str(
            write(
                name,
                "import couler\n\n\n"
                f"@couler.step({options})\ndef grow(x: int) -> int:\n{lines}\n\n\n"
                'with couler.Workflow("w"):\n    grow(1)\n',
            )
        )
    )


def script_of(loaded: Loaded) -> Script:
    action = loaded.workflow.steps[0].action
    assert isinstance(action, Script)
    return action


def key_of(loaded: Loaded) -> str:
    return definition_digest(loaded.workflow.steps[0], {})


def problems(loaded: Loaded, *engines: str) -> list[tuple[str, str]]:
    return [(one.code, one.message) for one in diagnose(loaded, engines)]


FOLLOWED = {
    "lib/area.py": "import farm.fields\n\ndef size(x):\n    return x\n",
    "lib/farm/__init__.py": "",
    "lib/farm/fields.py": "def rows():\n    from . import soil\n    from ._tools import plough\n",
    "lib/farm/soil.py": "import json\n",
    "lib/farm/_tools/__init__.py": "from .plough import *\n",
    "lib/farm/_tools/plough.py": "try:\n    import tractor\nexcept ImportError:\n    pass\n",
    "lib/tractor.py": "import area\n",
}


@pytest.mark.parametrize("changed", FOLLOWED)
def test_what_a_module_does_makes_another_key(write: Write, visible: Path, changed: str) -> None:
    for name, text in FOLLOWED.items():
        write(name, text)
    write("lib/other.py", "import area\n")
    body = "from area import size\nreturn size(x)"
    before = program(write, body)
    write("lib/other.py", "import area, json\n")
    write(changed, FOLLOWED[changed] + "\n# not used\ndef another():\n    return 1\n")
    assert key_of(program(write, body)) == key_of(before)
    write(changed, FOLLOWED[changed] + "\nprint(1)\n")
    after = program(write, body)
    assert key_of(after) != key_of(before)
    assert script_of(after).source == script_of(before).source
    write(changed, FOLLOWED[changed])
    assert key_of(program(write, body)) == key_of(before)
    assert [one.path for one in before.workflow.code] == sorted(
        name.removeprefix("lib/") for name in FOLLOWED
    )


def test_modules_of_one_name_are_two(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = []
    for name in ("first", "second"):
        folder = write(f"{name}/area.py", f"NAME = {name!r}\n").parent
        with monkeypatch.context() as patch:
            patch.setenv("PYTHONPATH", str(folder))
            patch.syspath_prepend(str(folder))
            keys.append(key_of(program(write, "import area\nreturn area.NAME", name="flow.py")))
    assert keys[0] != keys[1]


def test_what_is_installed_leaves_a_script_as_it_is(write: Write) -> None:
    body = "import json\nimport pytest\nimport nowhere_at_all\nreturn x"
    script = script_of(program(write, body, 'image="own"'))
    assert script.files == ()
    assert project_modules(script.source) == {}
    assert project_modules("from couler import File") == {}


def test_an_installed_project_counts_where_its_folder_is_linked(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Editable installs put the project's folder into a file of `site-packages`."""
    write("venv/site-packages/project.pth", f"import sys\n{tmp_path / 'src'}\n")
    write("src/area.py")
    for folder in ("venv/site-packages", "src"):
        monkeypatch.syspath_prepend(str(tmp_path / folder))
    assert [*project_modules("import area")] == ["area"]


def test_an_installed_project_counts_where_a_finder_knows_its_folder(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other editable installs put a finder into `sys.meta_path`."""
    package = write("src/farm/__init__.py", "from . import soil\n")
    write("src/farm/soil.py")

    class Finder:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
            return spec_from_file_location(name, package) if name == "farm" else None

    monkeypatch.setattr("sys.meta_path", [*sys.meta_path, Finder])
    assert sorted(project_modules("import farm")) == ["farm", "farm.soil"]


def test_scripts_are_read_as_functions_are(write: Write, visible: Path) -> None:
    text = """
        import couler


        def work() -> None:
            import area
            print(area.NAME)


        with couler.Workflow("w"):
            couler.run_script(source=work, step_name="function")
            couler.run_script(source="import area; area.NAME", step_name="text", args=["1"])
            couler.run_script("bash", "bash", source="import area; area.NAME", step_name="shell")
        """
    found = []
    for content in ("one", "two"):
        write("lib/area.py", f"NAME = {content!r}\n")
        loaded = load_program(str(write("flow.py", text)))
        found.append([definition_digest(one, {}) for one in loaded.workflow.steps])
    are_equal = [first == second for first, second in zip(*found, strict=True)]
    assert are_equal == [False, False, True]


def test_what_needs_a_package_around_the_step_is_reported_at_once(write: Write) -> None:
    write("area.py")
    write("farm/soil.py")
    body = """
        import json, area
        from farm import soil
        from .tools import plough
        from .. import fields
        return x
        """
    [(code, message)] = problems(program(write, body))
    assert code == "CLR146"
    assert '"grow": it imports ..fields, .tools, which cannot travel' in message


@pytest.mark.parametrize(
    ("body", "options"),
    [
        ("try:\n    import area\nexcept ImportError:\n    area = None\nreturn x", ""),
        ("try:\n    from .area import x\nexcept Exception:\n    pass\nreturn x", ""),
        (
            "import contextlib\nwith contextlib.suppress(ImportError):\n    import area\nreturn x",
            "",
        ),
        ("if x > 9:\n    import area\nreturn x", ""),
        ("import typing\nif typing.TYPE_CHECKING:\n    import area\nreturn x", ""),
        ("import area\nreturn x", 'image="mine"'),
        ("import area\nreturn x", 'env={"PYTHONPATH": "/here"}'),
        ("import sys\nsys.path.append('/here')\nimport area\nreturn x", ""),
        ("import area\nreturn x", 'command="bash"'),
    ],
)
def test_modules_that_travel_or_may_be_there_are_not_reported(
    write: Write, body: str, options: str
) -> None:
    write("area.py")
    loaded = program(write, body, options)
    for engine in ("argo", "airflow"):
        assert {code for code, _ in problems(loaded, engine)} <= {"CLR418"}


@pytest.mark.parametrize("engine", ["argo", "airflow"])
def test_a_path_of_the_step_comes_after_that_of_the_code(write: Write, engine: str) -> None:
    write("area.py")
    loaded = program(write, "import area\nreturn x", 'env={"PYTHONPATH": "/here"}')
    assert "/couler/code:/here" in compile(loaded, engine).to_text()


def test_defaults_can_say_where_modules_are(write: Write) -> None:
    write("area.py")
    text = """
        import couler

        with couler.Workflow("w", defaults={"env": {"PYTHONPATH": "/here"}}):
            couler.run_script(source="import area", step_name="use")
        """
    loaded = load_program(str(write("flow.py", text)))
    assert problems(loaded, "local", "argo", "airflow") == []


def test_no_image_has_a_package_around_a_step(write: Write) -> None:
    [(code, message)] = problems(program(write, "from .a import b\nreturn x", 'image="mine"'))
    assert code == "CLR146"
    assert "imports .a, " in message


LACKING = "import json, pytest\nfrom pluggy import hooks\nimport yaml, nowhere_at_all\nreturn x"


@pytest.mark.parametrize("engine", ["argo", "airflow"])
def test_modules_that_the_default_image_lacks_are_a_warning(write: Write, engine: str) -> None:
    [(code, message)] = problems(program(write, LACKING), engine)
    assert code == "CLR303"
    assert f"imports nowhere_at_all, pluggy, pytest, yaml, which the image {default_image()}" in (
        message
    )
    assert 'packages=["nowhere_at_all","pluggy","pytest","PyYAML"]' in message
    [(_, message)] = problems(program(write, LACKING, 'packages=["pytest>=7"]'), engine)
    assert "imports nowhere_at_all, yaml, which" in message
    assert 'packages=["pytest>=7","nowhere_at_all","PyYAML"]' in message


READS = """
    import os
    from pathlib import Path
    open("a").read(), open("b", "rb"), Path("c").read_text(), Path("d").open()
    frames.read_csv("e.csv"), frames.read_parquet(Path("f"), columns=[])
    os.environ["A"], os.environ.get("B", "none"), os.getenv("C")
    # open("comment"), a text and a call over several lines are no reads of other names
    print("open('text') and os.environ['T']"), open(  # of it
        "it's",
        encoding="ascii",
    )
    Path("g").read_text("ascii"), pathlib.Path("h").open(mode="rb")
    path.open("r"), path.read_text("utf-8"), gzip.open("i")
"""
MAKES = """
    import os, sys
    from pathlib import Path
    open("made", "w"), open("made"), open("log", mode="a")
    Path("m").write_text(""), Path("n").open("w"), open(file="x", mode="w")
    frames.to_csv("table"), frames.read_csv("table"), open(sys.argv[1]), open(0)
    os.environ["A"] = os.environ["B"] = "1"
    os.getenv("A"), os.getenv(sys.argv[1]), dict(os.environ), os.environ["COULER_WORK"]
"""


def test_reads_by_name_are_seen_and_what_a_source_makes_is_not() -> None:
    files, variables = reads_of(textwrap.dedent(READS))
    assert (files, variables) == ({*"abcdfghi", "e.csv", "it's"}, {*"ABC"})
    assert reads_of(textwrap.dedent(MAKES)) == (set(), set())
    assert reads_of("not Python") == (set(), set())


def test_an_input_of_the_step_is_no_file_from_elsewhere(write: Write) -> None:
    text = """
        import couler
        from couler import File

        with couler.Workflow("w"):
            made = couler.run_script(source="...", output=File("a.csv"), step_name="make")
            for inputs in ({"./a.csv": made.a}, {"/in/a.csv": made.a}):
                source = f"open('{[*inputs][0]}').read()"
                couler.run_script(source=source, input=inputs, cache=True, step_name="use")
        """
    assert problems(load_program(str(write("flow.py", text)))) == []


def test_a_cached_step_is_warned_about_what_its_key_does_not_hold(write: Write) -> None:
    body = 'import os\nopen("/data/rows.csv")\nos.environ["RATE"], os.environ["MODE"]\nreturn x'
    assert problems(program(write, body)) == []
    [(code, message)] = problems(program(write, body, "cache=True"))
    assert code == "CLR425"
    assert 'the file "/data/rows.csv", the variable MODE, the variable RATE:' in message
    [(_, message)] = problems(program(write, body, 'cache=True, env={"RATE": "1"}'))
    assert "RATE" not in message
    [(_, message)] = problems(
        program(write, body, 'cache=True, env_from=[{"secretRef": {"name": "s"}}]')
    )
    assert "MODE" not in message


def test_reads_in_long_expressions_are_seen() -> None:
    assert reads_of(f"x = {'1 + ' * 600}open('a')") == ({"a"}, set())
    assert reads_of(f"x = {'(' * 5000}1{')' * 5000}") == (set(), set())


def test_packages_of_modules_are_looked_for_in_the_image_too(write: Write) -> None:
    write("area.py", "import yaml\n")
    loaded = program(write, "import area\nreturn x")
    assert problems(loaded, "local") == []
    [(code, message)] = problems(loaded, "argo")
    assert (code, 'packages=["PyYAML"]' in message) == ("CLR303", True)


def test_a_module_below_folders_without_init_is_found(write: Write, visible: Path) -> None:
    write("lib/region/north/fields.py", "from region.north import soil\n")
    write("lib/region/north/soil.py")
    write("area/south/plot.py")
    own = project_modules("import region.north.fields\n")
    assert sorted(own) == ["region.north.fields", "region.north.soil"]
    assert problems(program(write, "import region.north.fields\nreturn x")) == []
    loaded = program(write, "from area.south import plot\nreturn x")
    assert [one.path for one in loaded.workflow.code] == ["area/south/plot.py"]


@pytest.mark.parametrize(
    "body",
    [
        'import importlib\nreturn importlib.import_module("area").SIZE',
        'from importlib import import_module\nreturn import_module("farm.area").SIZE',
        'return __import__("area").SIZE',
        'import runpy\nreturn runpy.run_module("area")["SIZE"]',
        'import runpy\nreturn runpy.run_module("farm")["SIZE"]',
        "import yard\nreturn yard.area.SIZE",
        "import barn\nreturn barn.SIZE",
    ],
)
def test_modules_that_are_imported_in_other_words_count(
    write: Write, visible: Path, body: str
) -> None:
    write("lib/yard.py", "from farm import *\n")
    write("lib/farm/__init__.py", '__all__ = ["area"]\n')
    write("lib/barn.py", 'import importlib\nSIZE = importlib.import_module("area").SIZE\n')
    keys = []
    for size in (1, 2):
        for name in ("area", "farm/area", "farm/__main__"):
            write(f"lib/{name}.py", f"SIZE = {size}\n")
        loaded = program(write, body)
        assert problems(loaded) == []
        keys.append(key_of(loaded))
    assert keys[0] != keys[1]


def test_modules_in_a_zip_file_are_refused(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "lib.zip", "w") as made:
        made.writestr("packed/__init__.py", "")
        made.writestr("packed/area.py", "SIZE = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path / "lib.zip"))
    [(code, message)] = problems(program(write, "from packed import area\nreturn area.SIZE"))
    assert (code, "packed.area" in message) == ("CLR146", True)


@pytest.mark.parametrize("line", ["import couler", "from couler import File"])
def test_couler_is_no_package_to_install(write: Write, line: str) -> None:
    [(code, message)] = problems(program(write, f"{line}\nreturn x"), "argo")
    assert code == "CLR303"
    assert "packages=" not in message
    assert "`from couler import File` at the top of the program" in message
