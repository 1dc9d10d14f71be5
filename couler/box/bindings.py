"""Names that a program binds: imports, all others, and names of parts of values."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping

from couler.box.shipped import shipped_functions
from couler.box.words import MODULES
from couler.dsl.artifacts import name_of_path


class Bindings:
    """The names of a program, as far as they are bound by what runs in the build."""

    def __init__(self, tree: ast.Module) -> None:
        self.shipped = {id(one) for one in shipped_functions(tree)}
        self.modules: dict[str, str] = {}
        self.members: dict[str, tuple[str, str]] = {}
        self.others: dict[str, list[ast.AST]] = {}
        self.classes: set[str] = set()
        assigned: dict[str, ast.expr] = {}
        for node in self.running(tree):
            for name in _bound_by(node):
                self.others.setdefault(name, []).append(node)
            if isinstance(node, ast.Import):
                for one in node.names:
                    name = one.asname or one.name.partition(".")[0]
                    self.modules[name] = one.name if one.asname else name
            elif isinstance(node, ast.ImportFrom):
                for one in node.names:
                    self._import(one.asname or one.name, node.module or "", one.name)
            elif isinstance(node, ast.ClassDef):
                self.classes.add(node.name)
            elif isinstance(node, ast.Assign) and len(node.targets) == 1:
                target = node.targets[0]
                if isinstance(target, ast.Name):
                    assigned[target.id] = node.value
        self.aliases = {
            name: value for name, value in assigned.items() if len(self.others[name]) == 1
        }
        self.types: set[str] = set()
        self.declared = declared_names(tree, self.aliases)

    def _import(self, name: str, module: str, member: str) -> None:
        if f"{module}.{member}" in MODULES:
            self.modules[name] = f"{module}.{member}"
        else:
            self.members[name] = module, member

    def running(self, tree: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes of a program that run in the build."""
        waiting = [tree]
        while waiting:
            node = waiting.pop()
            yield node
            if isinstance(node, ast.FunctionDef) and id(node) in self.shipped:
                waiting += [*node.decorator_list, *_around(node.args)]
            else:
                waiting += ast.iter_child_nodes(node)

    def is_imported(self, name: str) -> bool:
        """Return whether a name is that of an import."""
        return name in self.modules or name in self.members

    def is_bound(self, name: str) -> bool:
        """Return whether the program gives a name a meaning."""
        return name in self.others or self.is_imported(name)

    def module_of(self, node: ast.AST) -> str | None:
        """Return the module that an expression stands for, None for others."""
        if isinstance(node, ast.Name):
            return self.modules.get(node.id)
        if isinstance(node, ast.Attribute):
            outer = self.module_of(node.value)
            name = f"{outer}.{node.attr}"
            return name if outer is not None and name in MODULES else None
        return None

    def member_of(self, node: ast.AST) -> tuple[str, str] | None:
        """Return the module and the name there that an expression stands for, None for others."""
        if isinstance(node, ast.Name):
            return self.members.get(node.id)
        if isinstance(node, ast.Attribute):
            module = self.module_of(node.value)
            return None if module is None else (module, node.attr)
        return None


def _around(arguments: ast.arguments) -> Iterator[ast.expr]:
    """Yield the expressions at the arguments of a function, which run where it is defined."""
    yield from arguments.defaults
    yield from (one for one in arguments.kw_defaults if one is not None)


def _bound_by(node: ast.AST) -> Iterable[str]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return (node.name,)
        case ast.Name(ctx=ast.Store() | ast.Del()):
            return (node.id,)
        case ast.arg():
            return (node.arg,)
        case ast.ExceptHandler(name=str()) | ast.MatchAs(name=str()) | ast.MatchStar(name=str()):
            return (str(node.name),)
    return ()


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
