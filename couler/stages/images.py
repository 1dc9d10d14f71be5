"""The images of typed steps: a Dockerfile and pinned requirements for each set of packages."""

from __future__ import annotations

import hashlib
import re
import typing as t
from collections.abc import Iterable, Mapping
from pathlib import Path

from couler.ir.code_files import CODE_DIR
from couler.ir.walk import all_steps, map_steps
from couler.ir.workflow import AUTO_IMAGE, Script, Step, Workflow
from couler.modules import project_root
from couler.packages import (
    applies,
    default_image,
    distribution_name,
    fits,
    installed_version,
    lock_sources,
    read_lock,
    required_by,
)

_LOCKS = ("uv.lock", "pylock.toml", "poetry.lock")


class StepImage(t.NamedTuple):
    """An image to build, and the steps that run in it."""

    packages: tuple[str, ...]
    steps: tuple[str, ...]
    files: Mapping[str, bytes]
    """The context of the build, by paths: the Dockerfile, the requirements and the code."""

    @property
    def digest(self) -> str:
        """Return the digest of what it is built of: the tag of the image."""
        return hashlib.sha256(repr(sorted(self.files.items())).encode()).hexdigest()[:12]


def step_images(workflow: Workflow, *, with_code: bool) -> list[StepImage]:
    """Return the images of the steps in Python that name none, or `auto`.

    Parameters
    ----------
    workflow
        The workflow; the lock file of its project pins versions, else they are those of this
        Python.
    with_code
        Whether the modules that steps import are in the images.
    """
    users: dict[tuple[str, ...], list[str]] = {}
    for step in all_steps(workflow):
        action = step.action
        if (
            isinstance(action, Script)
            and action.is_python
            and action.image in (AUTO_IMAGE, default_image())
        ):
            users.setdefault(action.packages, []).append(step.name)
    file = workflow.source.file if workflow.source is not None else ""
    root = project_root(Path(file).absolute().parent)
    locked = next((read_lock(root / one) for one in _LOCKS if (root / one).is_file()), {})
    sources = lock_sources(root / "uv.lock") if (root / "uv.lock").is_file() else {}
    code = {f"code/{one.path}": one.data for one in workflow.code if with_code}
    return [
        StepImage(packages, tuple(dict.fromkeys(names)), _context(packages, code, locked, sources))
        for packages, names in users.items()
    ]


def name_images(workflow: Workflow, name: str, *, with_code: bool) -> Workflow:
    """Return a workflow whose steps with the image `auto` name that of their packages."""
    tags = {one.packages: one.digest for one in step_images(workflow, with_code=with_code)}

    def change(step: Step) -> Step:
        action = step.action
        if not isinstance(action, Script) or action.image != AUTO_IMAGE:
            return step
        image = {"image": f"{name}:{tags[action.packages]}", "built": True}
        return step.model_copy(update={"action": action.model_copy(update=image)})

    return map_steps(workflow, change)


def _context(
    packages: tuple[str, ...],
    code: Mapping[str, bytes],
    locked: Mapping[str, str],
    sources: Mapping[str, str],
) -> dict[str, bytes]:
    lines = [f"FROM {default_image()}"]
    files = dict(code)
    if packages:
        files["requirements.txt"] = "".join(
            f"{one}\n" for one in _pinned(packages, locked, sources)
        ).encode()
        lines += [
            *["RUN apt-get update && apt-get install -y --no-install-recommends git"]
            * (b"git+" in files["requirements.txt"]),
            "COPY requirements.txt /tmp/requirements.txt",
            "RUN python -m pip install --no-cache-dir -r /tmp/requirements.txt",
        ]
    if code:
        lines += [f"COPY code {CODE_DIR}", f"ENV PYTHONPATH={CODE_DIR}"]
    return {"Dockerfile": "\n".join([*lines, ""]).encode(), **files}


def _pinned(
    packages: Iterable[str], locked: Mapping[str, str], sources: Mapping[str, str]
) -> list[str]:
    """Return the packages and all that they need, with the versions of a lock or of this Python.

    A requirement that this version does not meet stays as it is.
    """
    extras = {distribution_name(one): "".join(re.findall(r"\[.*?\]", one)) for one in packages}
    versions = {name: locked.get(name) or installed_version(name) for name in required_by(packages)}
    unmet = {
        name: f"  # not {version}, which is locked or installed"
        for one in packages
        if applies(one)
        and (version := versions.get(name := distribution_name(one)))
        and not fits(version, one)
    }
    from_url = {name: text for name, text in sources.items() if text.startswith(" @ ")}
    pinned = [
        f"{name}{extras.get(name, '')}{from_url.get(name, f'=={version}')}"
        for name, version in versions.items()
        if version and name not in unmet
    ]
    return [
        *sorted({sources[name] for name in versions.keys() & sources.keys() - from_url.keys()}),
        *sorted(
            [
                *pinned,
                *(
                    one + unmet.get(name, "")
                    for one in packages
                    if (name := distribution_name(one)) in unmet or not versions.get(name)
                ),
            ]
        ),
    ]
