"""What a real API server takes and answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from couler.cli import app
from tests.backends.argo.absences import REFUSED
from tests.backends.argo.test_ancestor_programs import KINDS, compiled as ancestor
from tests.backends.argo.test_corpus import compiled
from tests.corpus import cases
from tests.kube.api_server import ApiServer
from tests.support import ancestor_programs

pytestmark = [pytest.mark.kube_api, pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[2]
GROUP = "/apis/argoproj.io/v1alpha1/namespaces/default"


def manifests() -> Iterator[tuple[str, str]]:
    """Yield what the corpus, the programs of the earlier SDK and the examples compile to."""
    for case in cases():
        if case.name not in REFUSED:
            yield case.name, compiled(case, format="json")
    for name in ancestor_programs.names():
        yield name, ancestor(name, format="json", kind=KINDS.get(name))
    for file in sorted((ROOT / "examples").glob("*/*.py")):
        result = CliRunner().invoke(app, ["compile", str(file), "-e", "argo", "--format", "json"])
        if result.exit_code == 0:  # others are no workflows
            yield file.stem, result.stdout


def test_compiled_programs_are_taken(server: ApiServer) -> None:
    answers = {}
    for name, text in manifests():
        tree = json.loads(text)
        for at, manifest in enumerate(tree.get("items", [tree])):
            path = f"{GROUP}/{manifest['kind'].lower()}s?dryRun=All&fieldValidation=Strict"
            code, answer = server.call("POST", path, manifest)
            answers[f"{name} {at}"] = "" if code == 201 else answer["message"]
    sys.stdout.write(f"{list(answers.values()).count('')} of {len(answers)} objects are taken\n")
    assert {name: told for name, told in answers.items() if told} == {}


def couler(*arguments: str) -> Result:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result


def test_control_characters_reach_secrets_and_schedules(cluster: ApiServer, tmp_path: Path) -> None:
    program = tmp_path / "flow.py"
    program.write_text(
        "import couler\n"
        "couler.create_secret({'word': 'p\\x7fw\\x9f'}, name='odd-word')\n"
        "with couler.Workflow('odd', schedule=couler.Schedule('0 0 1 1 *')) as wf:\n"
        "    couler.run_container('busybox', ['echo', 'a\\x7f\\x85b'], step_name='s',\n"
        "        secret='odd-word')\n"
    )
    couler("schedule", "put", str(program), "-e", "argo", "--create-secrets")
    code, found = cluster.call("GET", f"{GROUP}/cronworkflows/odd")
    assert code == 200
    [template] = [one for one in found["spec"]["workflowSpec"]["templates"] if "container" in one]
    assert template["container"]["command"] == ["echo", "a\x7f\x85b"]
