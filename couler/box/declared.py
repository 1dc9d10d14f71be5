"""Names that a program gives to parts of values, which it can then read as attributes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from couler.dsl.artifacts import name_of_path

_FILES = frozenset(
    {
        *("Artifact", "ArtifactoryArtifact", "AzureArtifact", "Directory", "File", "GcsArtifact"),
        *("GitArtifact", "HdfsArtifact", "HttpArtifact", "LocalArtifact", "OssArtifact"),
        *("PluginArtifact", "RawArtifact", "S3Artifact", "create_local_artifact"),
        *("create_oss_artifact", "create_parameter_artifact", "create_s3_artifact"),
    }
)
"""Functions whose first argument, or `path`, is a file that an output is called after."""


def declared_names(tree: ast.Module, aliases: Mapping[str, ast.expr]) -> set[str]:
    r"""Return the names that a program declares."""
    found = {name for node in ast.walk(tree) for name in _declared(node, aliases)}
    return {name for name in found if name.isidentifier()}


def _declared(node: ast.AST, aliases: Mapping[str, ast.expr]) -> Iterator[str]:
    match node:
        case ast.keyword(arg="name", value=value):
            yield from ("name", *map(_name, _texts(value, aliases)))
        case ast.keyword(arg="output", value=value):
            yield from ("output", *map(name_of_path, _texts(value, aliases)))
        case ast.keyword(arg=str(name)):
            yield name
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value
                    if key.value == "name":
                        yield from map(_name, _texts(value, aliases))
        case ast.Subscript(slice=ast.Constant(value=str(name)), ctx=ast.Store()):
            yield name
        case ast.ClassDef(body=body):
            for one in body:
                if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                    yield one.target.id
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _FILES:
            paths = [*node.args[:1], *(one.value for one in node.keywords if one.arg == "path")]
            yield from (name_of_path(text) for one in paths for text in _texts(one, aliases))


def _name(text: str) -> str:
    """Return what an output is called by a name, also by that of an argument such as `--rate`."""
    return re.sub(r"\W+", "_", text.lstrip("-"))


def _texts(value: ast.expr, aliases: Mapping[str, ast.expr]) -> Iterator[str]:
    """Yield the texts of an expression, or of lists of them, also by the names of both."""
    waiting = [value]
    seen: set[str] = set()
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Name) and one.id not in seen:  # a list can be in itself
            seen.add(one.id)
            one = aliases.get(one.id, one)
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield one.value
        elif isinstance(one, ast.List | ast.Tuple):
            waiting += [part for part in one.elts if not isinstance(part, ast.List | ast.Tuple)]
