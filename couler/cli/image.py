"""`couler image`: what the images of steps are built of."""

from __future__ import annotations

from pathlib import Path

import click

from couler.cli._options import file_argument
from couler.cli.load import Source, load
from couler.cli.session import Session, pass_session, session_options, writing
from couler.stages.checks import as_ir, refuse_errors
from couler.stages.images import step_images


@click.command()
@file_argument
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default="image",
    metavar="FOLDER",
    help="Folder for the files, `image` by default; a folder in it for each of several images.",
)
@click.option("--name", default="NAME", metavar="NAME", help="Name of the image, for its tag.")
@click.option("--code", "with_code", is_flag=True, help="With the project's modules (code=image).")
@session_options
@pass_session
def command(session: Session, file: Source, output: Path, name: str, with_code: bool) -> None:
    """Write what the images of steps are built of.

    Steps that name no image, or `image="auto"`, get one for each set of packages: a Dockerfile,
    and requirements with the versions of the project's lock file, else of this Python. The tag is
    a digest of all that. Prints the commands that build them.
    """
    workflow, found = as_ir(load(file))
    refuse_errors(workflow, found)
    images = step_images(workflow, with_code=with_code)
    for image in images:
        folder = output if len(images) == 1 else output / image.digest
        with writing("-o", folder):
            for path, content in image.files.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(content)
        session.info(f"for    {', '.join(image.steps)}")
        click.echo(f"docker build -t {name}:{image.digest} {folder}")
    if not images:
        session.info("no step runs Python without an image of its own")
