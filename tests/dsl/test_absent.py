"""Names of the ancestor that are gone say what to use instead, however they are asked for."""

from __future__ import annotations

import importlib

import pytest
from click.testing import CliRunner

import couler
import couler.argo
from couler.cli import app
from couler.dsl import absent

_NAMES = """
run run_container run_script run_job run_canned_step workflow workflow_yaml set_default_submitter
delete config_workflow config_defaults create_parameter_artifact create_local_artifact
create_oss_artifact create_s3_artifact create_secret obtain_secret get_secret get_step_output when
concurrent map exec_while dag set_dependencies set_exit_handler set_dns add_toleration
add_image_pull_secret add_volume create_workflow_volume equal not_equal bigger smaller bigger_equal
smaller_equal validate_workflow_yaml init_yaml_dump states ArgoSubmitter Artifact LocalArtifact
OssArtifact S3Artifact Secret Cache WFStatus ImagePullPolicy ArtifactType WorkflowCRD
CronWorkflowCRD OVERWRITE_GPU_ENVS _cleanup _dump_yaml Enum config k8s_client logging pyaml yaml
conditional dns exit_handler image_pull_secret loop predicates recursion toleration volume steps
"""
UPSTREAM = _NAMES.split()


@pytest.mark.parametrize("module", [couler, couler.argo])
def test_every_name_of_the_ancestor_is_there_or_says_what_to_use(module: object) -> None:
    for name in UPSTREAM:
        if name in absent._NAMES:
            with pytest.raises(AttributeError, match=f"{name} is |{name} was "):
                getattr(module, name)
        else:
            assert hasattr(module, name)


@pytest.mark.parametrize(
    "line",
    [
        "from couler import init_yaml_dump",
        "from couler.argo import init_yaml_dump",
        "from couler.core.utils import init_yaml_dump",
        "import couler.argo as c; from couler.argo import run_container, init_yaml_dump",
    ],
)
def test_importing_a_gone_name_says_what_to_use(line: str) -> None:
    with pytest.raises(ImportError, match="couler compile FILE -e argo"):
        exec(line, {})


@pytest.mark.parametrize(
    ("line", "mend"),
    [
        ("from couler.core.proto_repr import get_default_proto_workflow", "couler show FILE"),
        ("from couler.core.utils import make_list_if_not", "nothing replaces it"),
        ("from couler.core.utils import encode_base64", "see couler.create_secret"),
        ("from couler.core.utils import argo_safe_name", "any name of a step"),
        ("from couler.argo_submitter import _SubmitterImplTypes as T", "ArgoSubmitter alone"),
    ],
)
def test_modules_that_are_gone_say_what_to_use(line: str, mend: str) -> None:
    with pytest.raises(ImportError, match=mend):
        exec(line, {})


@pytest.mark.parametrize("module", ["couler", "couler.argo", "couler.core.utils"])
def test_special_and_unknown_names_are_plainly_absent(module: str) -> None:
    found = importlib.import_module(module)
    assert not hasattr(found, "__wrapped__")
    if module != "couler.core.utils":
        with pytest.raises(
            AttributeError, match=f"^module '{module}' has no attribute 'nonsense'$"
        ):
            _ = found.nonsense
        with pytest.raises(ImportError, match="cannot import name 'nonsense'"):
            exec(f"from {module} import nonsense", {})


def test_commands_that_stand_in_are_there() -> None:
    commands = CliRunner().invoke(app, ["--help"]).output
    texts = [*absent._NAMES.values(), *absent._MODULES.values()]
    named = {text.partition("`couler ")[2].split()[0] for text in texts if "`couler " in text}
    assert named == {"compile", "run", "show"}
    assert all(f"\n  {name}" in commands for name in named)
