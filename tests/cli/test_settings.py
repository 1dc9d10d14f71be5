"""Flags beat variables, these pyproject.toml, that the user's file, that the defaults."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.cli._settings import Settings, read_settings
from couler.errors import ConfigurationError


def test_each_source_beats_the_next(tmp_path: Path) -> None:
    user = tmp_path / "home/couler/config.toml"
    user.parent.mkdir(parents=True)
    user.write_text('engine = "from-user"\nprofile = "from-user"\nformat = "from-user"\n')
    (tmp_path / "pyproject.toml").write_text(
        '[tool.couler]\nengine = "from-project"\nprofile = "from-project"\n'
    )
    inside = tmp_path / "a/b"
    inside.mkdir(parents=True)
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "home"), "COULER_ENGINE": "from-project"}
    settings = read_settings(inside, environment)
    assert settings.get("engine", "from-flag") == "from-flag"
    assert settings.values["engine"] == ("from-project", "COULER_ENGINE")
    assert settings.get("profile") == "from-project"
    assert settings.get("format") == "from-user"


def test_profile_falls_away_with_its_engine(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.couler]\nengine = "a"\nprofile = "of-a"\n')
    assert read_settings(tmp_path, {}).get("profile") == "of-a"
    assert read_settings(tmp_path, {"COULER_ENGINE": "b"}).get("profile") is None
    both = {"COULER_ENGINE": "b", "COULER_PROFILE": "of-b"}
    assert read_settings(tmp_path, both).get("profile") == "of-b"


def test_nearest_project_with_settings_counts(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.couler]\nengine = "outer"\n')
    inside = tmp_path / "package"
    inside.mkdir()
    (inside / "pyproject.toml").write_text('[project]\nname = "package"\n')
    assert read_settings(inside, {}).get("engine") == "outer"
    (inside / "pyproject.toml").write_text('[tool.couler]\nformat = "json"\n')
    assert read_settings(inside, {}).get("engine") is None


def test_numbers_and_paths(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.couler]\njobs = 3\nhome = "state"\n')
    inside = tmp_path / "package"
    inside.mkdir()
    settings = read_settings(inside, {})
    assert settings.get("jobs") == "3"
    assert settings.get("home") == str(tmp_path / "state")  # beside the file that says it
    settings = read_settings(inside, {"COULER_HOME": "here", "COULER_JOBS": "2"})
    assert (settings.get("home"), settings.get("jobs")) == ("here", "2")
    (tmp_path / "pyproject.toml").write_text('[tool.couler]\nhome = "~/state"\n')
    assert read_settings(inside, {}).get("home") == "~/state"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[tool.couler]\nformat = 3\n", ["format", "must be a text", "3"]),
        ("[tool.couler]\njobs = true\n", ["jobs", "must be a number", "true"]),
        ('[tool.couler]\nprofil = "x"\n', ['Did you mean "profile"?']),
        (
            '# only a comment\n[tool.couler]\nengin = "argo"\n',
            ['pyproject.toml:3: there is no key "engin". Did you mean "engine"?'],
        ),
        (
            '[a]\nb = """\n[tool.couler]\nengin = 1\n"""\n[tool.couler]\n# c\nengin = 1  # =\n',
            ["pyproject.toml:8: "],
        ),
        ('[tool.couler]\n"en=gine" = 1\n', ["pyproject.toml:2: ", '"en=gine"']),
        ("[tool]\ncouler = 3\n", ["pyproject.toml:2: tool.couler is 3; it must be a table"]),
        (f"[tool.couler]\njobs = {'9' * 5000}\n", ["digits"]),
        ("[tool.couler]\nprices = 3\n", ["prices", "a table", "3"]),
        ("[tool.couler.prices]\ncpu_hours = 3\n", ["cpu_hours", 'Did you mean "cpu_hour"?']),
        ("[tool.couler.prices]\ncpu_hour = -1\n", ["cpu_hour", "-1"]),
        ("[tool.couler.prices]\ncpu_hour = nan\n", ["cpu_hour", "nan"]),
        ("[tool.couler.prices]\ncpu_hour = true\n", ["cpu_hour", "must be a number"]),
        ("[tool.couler.prices]\ncurrency = 3\n", ["currency", "must be a text"]),
        ('[tool.couler]\nstorage = "s3"\n', ["storage", "a table", "s3"]),
        ("[tool.couler\n", []),
    ],
)
def test_wrong_settings_name_the_file(tmp_path: Path, text: str, what: list[str]) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        read_settings(tmp_path, {})
    message = str(caught.value)
    assert all(words in message for words in what), message
    assert "pyproject.toml" in message


def test_format_that_a_command_does_not_know_is_passed_over() -> None:
    settings = Settings({"format": ("github", "COULER_FORMAT")})
    assert settings.choose("format", None, ("text", "json")) == "text"
    assert settings.choose("format", None, ("text", "github")) == "github"
    assert settings.choose("format", "json", ("text", "github")) == "json"


def test_prices_of_files(tmp_path: Path) -> None:
    user = tmp_path / "home/couler/config.toml"
    user.parent.mkdir(parents=True)
    user.write_text('[prices]\ncpu_hour = 0.05\ngpu_hour = 2\ncurrency = "EUR"\n')
    (tmp_path / "pyproject.toml").write_text("[tool.couler.prices]\ncpu_hour = 0.04\n")
    settings = read_settings(tmp_path, {"XDG_CONFIG_HOME": str(tmp_path / "home")})
    assert settings.prices == {"cpu_hour": 0.04, "gpu_hour": 2, "currency": "EUR"}


def test_storages_of_files(tmp_path: Path) -> None:
    user = tmp_path / "home/couler/config.toml"
    user.parent.mkdir(parents=True)
    user.write_text('[storage.s3]\nbucket = "mine"\nregion = "eu"\n')
    (tmp_path / "pyproject.toml").write_text(
        '[tool.couler.storage.s3]\nbucket = "data"\n'
        '[tool.couler.storage.local.s3]\nendpoint = "localhost:9000"\n'
    )
    settings = read_settings(tmp_path, {"XDG_CONFIG_HOME": str(tmp_path / "home")})
    assert settings.storages == {
        "s3": {"bucket": "data", "region": "eu"},
        "local": {"s3": {"endpoint": "localhost:9000"}},
    }
