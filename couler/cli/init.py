"""`couler init`: an example to begin with."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from couler.cli.session import Session, pass_session, session_options, writing
from couler.config_files import read_toml
from couler.errors import ConfigurationError

EXAMPLE = "workflow.py"

SETTINGS = """\
[tool.couler]
engine = "argo"  # what `couler compile` and `couler validate` use unless -e says otherwise
"""


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=".")
@session_options
@pass_session
def command(session: Session, folder: Path) -> None:
    """Write an example workflow to begin with.

    Writes workflow.py and the settings [tool.couler] of pyproject.toml into FOLDER. What is
    there already stays as it is.
    """
    with writing("FOLDER", folder):
        folder.mkdir(parents=True, exist_ok=True)
        _write_example(session, folder / EXAMPLE)
        _write_settings(session, folder / "pyproject.toml")
    session.info(f"next: couler run {folder / EXAMPLE}")


def _write_example(session: Session, path: Path) -> None:
    text = files("couler.cli").joinpath("templates", f"{EXAMPLE}.txt").read_text(encoding="utf-8")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        session.info(f"kept   {path}: it exists")
    else:
        session.info(f"wrote  {path}")


def _write_settings(session: Session, path: Path) -> None:
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    if read_toml(before, str(path)).at("tool", "couler").tree is not None:
        session.info(f"kept   {path}: it has [tool.couler]")
        return
    gap = ("\n" if before.endswith("\n") else "\n\n") if before else ""
    try:
        read_toml(f"{before}{gap}{SETTINGS}", str(path))
    except ConfigurationError as error:
        raise ConfigurationError(
            f"{path}: `tool` takes no table more; write it as [tool]"
        ) from error
    with path.open("a", encoding="utf-8") as file:
        file.write(gap + SETTINGS)
    session.info(f"{'added to' if before else 'wrote '} {path}")
