"""Names of the ancestor that are gone, and what to use in their place."""

from __future__ import annotations

import dis
import sys

_PRINTED = (
    "is gone: `couler compile FILE -e argo` prints the YAML, couler.workflow_yaml() is a dict"
)
_FOREIGN = "was never part of couler: import it from where it is defined"

_NAMES = {
    "ArtifactType": (
        "is gone: each kind of artifact has a class of its own, such as couler.S3Artifact"
    ),
    "Enum": _FOREIGN,
    "OVERWRITE_GPU_ENVS": "is gone: give variables by env= and graphics processors by gpu=",
    "_dump_yaml": _PRINTED,
    "config": "is gone: a workflow is what the program says, with no file beside it",
    "init_yaml_dump": _PRINTED,
    "k8s_client": _FOREIGN,
    "logging": _FOREIGN,
    "pyaml": _FOREIGN,
    "run_canned_step": (
        "is gone: couler.call_template(collection, template, arguments) runs a template that is "
        "on the cluster; couler.step, couler.run_container and couler.run_script define one"
    ),
    "yaml": _FOREIGN,
}
_NAMES |= {
    name: f"is no longer passed on: import couler.core.syntax.{name}"
    for name in (
        *("conditional", "dns", "exit_handler", "image_pull_secret", "predicates", "recursion"),
        *("toleration", "volume"),
    )
}

_NAMES |= dict.fromkeys(
    ("_SUBMITTER_IMPL_ENV_VAR_KEY", "_SubmitterImplTypes"),
    "is gone with the submitter in Go: ArgoSubmitter alone submits, so leave this name out",
)

_MODULES = {
    "couler.docker_submitter": (
        "is gone: `couler run FILE --runtime docker` runs a workflow on this machine, and so does "
        'couler.run(couler.LocalSubmitter(runtime="docker"))'
    ),
    "couler.core.proto_repr": (
        "is gone with the protobuf form of workflows: `couler show FILE --as json` prints a "
        "workflow as data"
    ),
    "couler.core.utils": "is gone: it served the ancestor's own modules, and nothing replaces it",
}
_IN_MODULES = {
    ("couler.core.utils", name): text
    for name, text in {
        "argo_safe_name": "is gone: any name of a step is made one that the engine takes",
        "body": "is gone: couler.run_script and couler.step take functions",
        "encode_base64": "is gone: secrets are given as plain text, see couler.create_secret",
    }.items()
}


def module_missing(name: str) -> str:
    """Return what to do about a module of `couler` that is not there."""
    known = _MODULES.get(name, "is no module of Couler: what is public is in `couler` itself")
    return f". {name} {known}"


def missing(module: str, name: str) -> AttributeError | ImportError:
    """Return the error for a name that a module has not; for its `__getattr__`."""
    is_special = name.startswith("__")
    known = _IN_MODULES.get((module, name)) or _NAMES.get(name) or _MODULES.get(module)
    reason = None if is_special else known
    if reason is None:
        text = f"module {module!r} has no attribute {name!r}"
        return AttributeError(text, name=name, obj=sys.modules.get(module))
    message = f"{module}.{name} {reason}."
    asking = sys._getframe(2)
    if dis.opname[asking.f_code.co_code[asking.f_lasti]] == "IMPORT_FROM":
        return ImportError(message, name=name)
    return AttributeError(message)
