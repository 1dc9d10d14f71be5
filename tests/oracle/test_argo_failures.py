"""What Argo's controller and executor say of failed steps is recognised."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.failures import recognise
from tests.support import argo_oracle

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # the first use builds Argo's programs
    pytest.mark.skipif(argo_oracle.available() is not None, reason=str(argo_oracle.available())),
]

MANIFEST = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: failures-}
spec:
  entrypoint: main
  templates:
  - name: main
    dag:
      failFast: false
      tasks:
      - {name: no-output, template: no-output}
      - {name: no-program, template: no-program}
      - {name: no-key, template: no-key}
      - {name: late, template: late}
      - {name: own, template: own}
  - name: no-output
    container: {image: any, command: [sh, -c, "true"]}
    outputs: {parameters: [{name: text, valueFrom: {path: /tmp/out/text}}]}
  - name: no-program
    container: {image: any, command: [no-such-program]}
  - name: no-key
    inputs: {artifacts: [{name: a, path: /tmp/a, s3: {key: not/there}}]}
    container: {image: any, command: [sh, -c, "true"]}
  - name: late
    activeDeadlineSeconds: 1
    container: {image: any, command: [sh, -c, "sleep 3600"]}
  - name: own
    container: {image: any, command: [sh, -c, "exit 3"]}
"""
EXPECTED = {
    "no-output": "MissingOutputErr",
    "no-program": "CommandNotFoundErr",
    "no-key": "NoSuchKeyErr",
    "late": "PodDeadlineErr",
    "own": None,
}


def test_messages_of_the_real_controller(tmp_path: Path) -> None:
    run = argo_oracle.run(MANIFEST, work_dir=tmp_path)
    found = {}
    for name in EXPECTED:
        match = recognise(run.node(name).message, system="argo")
        found[name] = None if match is None else match.pattern.name
    assert found == EXPECTED
