"""The oracle on manifests written by hand. They pin what Argo does, not what Couler does."""

from __future__ import annotations

import datetime
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import argo_oracle
from tests.support.processes import is_running
from tests.support.waiting import until

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # the first use builds Argo's programs
    pytest.mark.skipif(argo_oracle.available() is not None, reason=str(argo_oracle.available())),
]

HEAD = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: test-}
spec:
  entrypoint: main
"""
TEMPLATES = """
  - name: say
    inputs: {parameters: [{name: text}]}
    container:
      image: any
      command: [sh, -c]
      args: ["mkdir /tmp/out; printf %s \\"$0\\" | tee /tmp/out/text", "{{inputs.parameters.text}}"]
    outputs: {parameters: [{name: text, valueFrom: {path: /tmp/out/text}}]}
  - name: fail
    container: {image: any, command: [sh, -c, "exit 3"]}
"""


@pytest.fixture(scope="module")
def argo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[argo_oracle.Session]:
    with argo_oracle.session(
        tmp_path_factory.mktemp("argo"),
        secrets={"login": {"token": "s3cret"}},
        artifacts={"given/text": b"given"},
        images={"with-entrypoint": {"entrypoint": ["echo", "from"], "cmd": ["the image"]}},
    ) as session:
        yield session


def say(text: str) -> str:
    return f"template: say, arguments: {{parameters: [{{name: text, value: '{text}'}}]}}"


def dag(tasks: str, more: str = "", spec: str = "") -> str:
    lines = [f"      - {{{line.strip()}}}" for line in tasks.strip().splitlines()]
    main = "  - name: main\n    dag:\n      failFast: false\n      tasks:\n" + "\n".join(lines)
    return f"{HEAD}{spec}\n  templates:\n{main}\n{TEMPLATES}\n{more}"


def test_hello(argo: argo_oracle.Session) -> None:
    run = argo.run(
        HEAD + "  templates: [{name: main, container: {image: any, command: [echo, hello]}}]"
    )
    assert (run.phase, run.root.exit_code, run.root.type) == ("Succeeded", 0, "Pod")
    assert [(pod.template, pod.command, pod.stdout) for pod in run.pods] == [
        ("main", ("echo", "hello"), "hello\n")
    ]


def test_diamond_passes_outputs(argo: argo_oracle.Session) -> None:
    run = argo.run(
        dag(f"""
            name: a, {say("{{workflow.parameters.x}}")}
            name: b, depends: a, {say("b{{tasks.a.outputs.parameters.text}}")}
            name: c, depends: a, {say("c{{tasks.a.outputs.parameters.text}}")}
            name: d, depends: b && c, {
            say("{{tasks.b.outputs.parameters.text}}{{tasks.c.outputs.parameters.text}}")
        }
            """),
        parameters={"x": "1"},
    )
    assert run.phase == "Succeeded"
    assert run.node("d").inputs == {"text": "b1c1"}
    assert run.node("d").outputs == {"text": "b1c1"}
    assert set(run.node("a").children) == {run.node("b").id, run.node("c").id}


def test_false_when_is_skipped_and_an_expression_gives_a_default(argo: argo_oracle.Session) -> None:
    run = argo.run(
        dag(f"""
            name: a, when: "1 > 2", {say("never")}
            name: b, depends: a, {say('{{=tasks.a.outputs.parameters.text ?? "none"}}')}
            """)
    )
    assert run.phases() == {"a": "Skipped", "b": "Succeeded"}
    assert run.node("b").outputs == {"text": "none"}


def test_without_fail_fast_other_branches_go_on(argo: argo_oracle.Session) -> None:
    run = argo.run(
        dag(f"""
            name: bad, template: fail
            name: after, depends: bad, {say("never")}
            name: rescue, depends: bad.Failed, {say("rescued")}
            name: slow, {say("slow")}
            name: last, depends: slow, {say("last")}
            """)
    )
    assert run.phase == "Failed"
    assert run.phases() == {
        "bad": "Failed",
        "after": "Omitted",
        "rescue": "Succeeded",
        "slow": "Succeeded",
        "last": "Succeeded",
    }
    assert run.node("bad").message == "main: Error (exit code 3)"


def test_a_failure_that_is_handled_leaves_the_dag_well(argo: argo_oracle.Session) -> None:
    run = argo.run(
        dag(f"""
            name: bad, template: fail
            name: rescue, depends: bad.Failed, {say("rescued")}
            """)
    )
    assert run.phase == "Succeeded"


def test_with_param_gathers_in_order(argo: argo_oracle.Session) -> None:
    run = argo.run(
        dag(f"""
            name: list, {say('["b", "a", "c"]')}
            name: each, depends: list, withParam: "{{{{tasks.list.outputs.parameters.text}}}}", {
            say("{{item}}.")
        }
            name: all, depends: each, {say("{{tasks.each.outputs.parameters.text}}")}
            """)
    )
    assert run.phase == "Succeeded"
    assert run.node("each(1:a)").outputs == {"text": "a."}
    assert run.node("all").outputs == {"text": '["b.","a.","c."]'}


def test_the_kubelet_expands_commands_variables_and_scripts(argo: argo_oracle.Session) -> None:
    run = argo.run(
        dag(
            """
            name: script, template: script
            name: command, template: command
            """,
            """
  - name: script
    script:
      image: any
      command: [python]
      env: [{name: OWN, value: own}]
      source: |
        print(r"$$ $(OWN) $(ARGO_CONTAINER_NAME) $(HOME)")
  - name: command
    container:
      image: any
      command: [echo]
      args: ["$$x", "$(OWN)", "$(HOME)", "$(TWICE)"]
      env:
      - {name: OWN, value: "a$$b"}
      - {name: TWICE, value: "$(OWN)$(LATER)"}
      - {name: LATER, value: c}
""",
        )
    )
    # The source is in a variable of the init container; only variables before it are known there.
    assert run.pod("script").stdout == "$ $(OWN) init $(HOME)\n"
    pod = run.pod("command")
    assert pod.env == {"OWN": "a$b", "TWICE": "a$b$(LATER)", "LATER": "c"}
    assert pod.args == ("$x", "a$b", "$(HOME)", "a$b$(LATER)")
    assert pod.stdout == "$x a$b $(HOME) a$b$(LATER)\n"


def test_on_exit_sees_the_status(argo: argo_oracle.Session) -> None:
    run = argo.run(
        dag(
            "name: bad, template: fail",
            '\n  - {name: bye, container: {image: any, command: [echo, "{{workflow.status}}"]}}',
            "  onExit: bye",
        )
    )
    assert run.phase == "Failed"
    (bye,) = [pod for pod in run.pods if pod.template == "bye"]
    assert bye.stdout == "Failed\n"


def test_retries_wait_and_stop_at_success(argo: argo_oracle.Session) -> None:
    run = argo.run(
        dag(
            "name: flaky, template: flaky",
            """
  - name: flaky
    retryStrategy:
      limit: 3
      backoff: {duration: 1s}
      expression: lastRetry.exitCode == "7"
    container: {image: any, command: [sh, -c, "test {{retries}} = 1 || exit 7"]}
""",
        )
    )
    assert run.phases() == {"flaky": "Succeeded", "flaky(0)": "Failed", "flaky(1)": "Succeeded"}
    assert run.node("flaky(0)").exit_code == 7


def test_a_deadline_ends_the_pod(argo: argo_oracle.Session) -> None:
    run = argo.run(
        dag(
            "name: slow, template: slow",
            """
  - name: slow
    activeDeadlineSeconds: 2
    container: {image: any, command: [sleep, "3600"]}
""",
        )
    )
    assert run.node("slow").phase == "Failed"
    assert run.node("slow").message == (
        "Pod was active on the node longer than the specified deadline"
    )


def test_what_is_not_written(argo: argo_oracle.Session) -> None:
    run = argo.run(
        dag(
            """
            name: default, template: default
            name: none, template: none
            """,
            """
  - name: default
    container: {image: any, command: ["true"]}
    outputs: {parameters: [{name: o, valueFrom: {path: /tmp/o, default: d}}]}
  - name: none
    container: {image: any, command: ["true"]}
    outputs: {parameters: [{name: o, valueFrom: {path: /tmp/o}}]}
""",
        )
    )
    assert run.node("default").outputs == {"o": "d"}
    assert run.node("none").phase == "Error"
    assert "no such file" in run.node("none").message


def test_artifacts_by_key(argo: argo_oracle.Session) -> None:
    run = argo.run(
        dag(
            """
            name: make, template: make
            name: use, template: use, depends: make
            """,
            """
  - name: make
    container:
      image: any
      command: [sh, -c]
      args: ["mkdir -p /tmp/d/sub; echo 1 > /tmp/d/1; echo 2 > /tmp/d/sub/2; echo f > /tmp/f"]
    outputs:
      artifacts:
      - {name: file, path: /tmp/f, s3: {key: "of/{{workflow.name}}/f"}, archive: {none: {}}}
      - {name: folder, path: /tmp/d, s3: {key: of/d}, archive: {none: {}}}
      - {name: packed, path: /tmp/d, s3: {key: of/d.tgz}}
  - name: use
    inputs:
      artifacts:
      - {name: file, path: /tmp/in/f, s3: {key: "of/{{workflow.name}}/f"}}
      - {name: folder, path: /in/folder, s3: {key: of/d}}
      - {name: packed, path: /in/packed, s3: {key: of/d.tgz}}
      - {name: given, path: /tmp/in/given, s3: {key: given/text}}
    container:
      image: any
      command: [sh, -c, "cat /tmp/in/f /tmp/in/given; cd /in; find . -type f | sort"]
""",
        )
    )
    assert run.phase == "Succeeded"
    assert (run.bucket / "of" / run.name / "f").read_text() == "f\n"
    assert (run.bucket / "of" / "d" / "sub" / "2").read_text() == "2\n"
    assert run.node("make").artifacts["folder"] == "of/d"
    assert run.pod("use").stdout.splitlines() == [
        "f",
        "given./folder/1",
        "./folder/sub/2",
        "./packed/1",
        "./packed/sub/2",
    ]


def test_a_result_loses_one_newline(argo: argo_oracle.Session) -> None:
    run = argo.run(
        dag(
            f"""
            name: two, template: two
            name: after, depends: two, {say("{{tasks.two.outputs.result}}.")}
            """,
            r"""
  - {name: two, container: {image: any, command: [printf, 'a\n\n']}}
""",
        )
    )
    assert run.node("two").result == "a\n"
    assert run.node("after").inputs == {"text": "a\n."}


def test_memoize_takes_outputs_from_the_config_map(argo: argo_oracle.Session) -> None:
    manifest = dag(
        "name: memo, template: memo",
        """
  - name: memo
    memoize: {key: k, cache: {configMap: {name: memory}}}
    container: {image: any, command: [sh, -c, "cat /proc/sys/kernel/random/uuid > /tmp/o"]}
    outputs: {parameters: [{name: o, valueFrom: {path: /tmp/o}}]}
""",
    )
    first, second = argo.run(manifest), argo.run(manifest)
    assert (first.node("memo").memoized, second.node("memo").memoized) == (False, True)
    assert first.node("memo").outputs == second.node("memo").outputs
    assert (len(first.pods), len(second.pods)) == (1, 0)
    assert set(argo.config_map("memory") or ()) == {"k"}


def test_secrets_entry_points_suspension_and_mutexes(argo: argo_oracle.Session) -> None:
    run = argo.run(
        dag(
            """
            name: secret, template: secret
            name: image, template: image
            name: nap, template: nap
            name: one, template: locked
            name: two, template: locked
            """,
            """
  - name: secret
    container:
      image: any
      env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: login, key: token}}}]
      command: [printenv, TOKEN]
  - {name: image, container: {image: with-entrypoint}}
  - {name: nap, suspend: {duration: 1s}}
  - name: locked
    synchronization: {mutexes: [{name: lock}]}
    container: {image: any, command: [sh, -c, "date +%s.%N; sleep 0.3; date +%s.%N"]}
""",
        )
    )
    assert run.phase == "Succeeded"
    assert run.pod("secret").stdout == "s3cret\n"
    assert run.pod("image").stdout == "from the image\n"
    assert run.node("nap").type == "Suspend"
    times = [[float(time) for time in run.pod(name).stdout.split()] for name in ("one", "two")]
    earlier, later = sorted(times)
    assert earlier[1] <= later[0]


def test_large_values_travel_another_way(argo: argo_oracle.Session) -> None:
    run = argo.run(
        dag(
            """
            name: script, template: script
            name: variable, template: variable
            """,
            """
  - name: script
    script:
      image: any
      command: [python]
      source: print(len("{{workflow.parameters.big}}"), "$$")
  - name: variable
    container:
      image: any
      command: ["true"]
      env: [{name: BIG, value: "{{workflow.parameters.big}}"}]
""",
        ),
        parameters={"big": "x" * 140_000},
    )
    # By config map, and so past the kubelet's rules.
    assert run.pod("script").stdout == "140000 $$\n"
    assert "StartError" in run.node("variable").message


def test_volumes_and_shared_folders_outlive_a_pod(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    claims = """
  volumeClaimTemplates:
  - metadata: {name: disk}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
"""
    run = argo_oracle.run(
        dag(
            """
            name: one, template: count
            name: two, template: count, depends: one
            """,
            f"""
  - name: count
    container:
      image: any
      command: [sh, -c]
      args: ["for f in /disk/n {tmp_path}/shared/n; do echo x >> $f; cat $f; done"]
      volumeMounts: [{{name: disk, mountPath: /disk}}]
""",
            claims,
        ),
        work_dir=tmp_path / "work",
        shared=[tmp_path / "shared"],
    )
    assert run.pod("two").stdout == "x\nx\n" * 2
    assert (tmp_path / "shared" / "n").read_text() == "x\nx\n"


def test_resources_are_created_if_the_cluster_has_their_kind(argo: argo_oracle.Session) -> None:
    create = HEAD + "  templates: [{name: main, resource: {action: create, manifest: '%s'}}]"
    made = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}}"
    assert argo.run(create % made).phase == "Succeeded"
    assert argo.config_map("a") == {"k": "v"}
    unknown = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}}"
    assert argo.run(create % unknown).phase == "Failed"


TEMPLATE_AND_CRON = """
apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: {name: shared}
spec:
  entrypoint: main
  arguments: {parameters: [{name: x, value: unset}]}
  templates:
  - {name: main, container: {image: any, command: [echo, "{{workflow.parameters.x}}"]}}
---
apiVersion: argoproj.io/v1alpha1
kind: CronWorkflow
metadata: {name: nightly}
spec:
  schedules: ["0 3 * * *"]
  workflowSpec:
    workflowTemplateRef: {name: shared}
    arguments: {parameters: [{name: x, value: "{{workflow.scheduledTime}}"}]}
"""


def test_a_cron_workflow_runs_for_its_time(tmp_path: Path) -> None:
    scheduled = datetime.datetime(2024, 2, 29, 3, tzinfo=datetime.UTC)
    run = argo_oracle.run(TEMPLATE_AND_CRON, work_dir=tmp_path, scheduled=scheduled)
    assert run.phase == "Succeeded"
    assert "2024-02-29T03:00:00Z" in run.pods[0].stdout


def test_a_workflow_template_runs_with_arguments(tmp_path: Path) -> None:
    template = TEMPLATE_AND_CRON.split("\n---")[0]
    run = argo_oracle.run(template, work_dir=tmp_path, parameters={"x": "given"})
    assert run.pods[0].stdout == "given\n"


def test_a_run_that_does_not_end_is_an_error(tmp_path: Path) -> None:
    manifest = HEAD + "  templates: [{name: main, suspend: {}}]"
    for timeout_s in (1, 20, 400):
        with pytest.raises(argo_oracle.OracleTimeoutError) as caught:
            argo_oracle.run(manifest, work_dir=tmp_path / f"{timeout_s}", timeout_s=timeout_s)
        if "Running" in str(caught.value):
            break  # else the controller has not come so far
    assert "Running" in str(caught.value)


def test_a_pod_that_cannot_start_is_an_error(tmp_path: Path) -> None:
    manifest = HEAD + (
        "  templates: [{name: main, container: {image: any, command: [env], env: "
        "[{name: A, valueFrom: {secretKeyRef: {name: nowhere, key: k}}}]}}]"
    )
    with pytest.raises(argo_oracle.OracleError, match='secrets "nowhere" not found'):
        argo_oracle.run(manifest, work_dir=tmp_path)


def test_what_argo_cannot_read_is_not_run(tmp_path: Path) -> None:
    manifest = HEAD + "  templates: [{name: n, container: {image: any}}]\n"  # n is a boolean
    with pytest.raises(argo_oracle.OracleError, match="cannot unmarshal bool"):
        argo_oracle.run(manifest, work_dir=tmp_path)


GOOD = HEAD + "  templates: [{name: main, container: {image: any, command: [echo]}}]\n"


@pytest.mark.parametrize(
    ("manifest", "error"),
    [
        (GOOD, None),
        (TEMPLATE_AND_CRON, None),
        (GOOD.replace("main, container", "other, container"), "template name 'main' undefined"),
        (GOOD + "  typo: 1\n", 'unknown field "spec.typo"'),
        (GOOD + "  entrypoint: main\n", "already set in map"),
        (GOOD.replace("echo", "'{{inputs.parameters.x}}'"), "failed to resolve {{inputs"),
        (TEMPLATE_AND_CRON.replace("0 3 * * *", "0 3 * *"), "cron"),
        ("kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n", "nothing to lint"),
    ],
)
def test_lint(tmp_path: Path, manifest: str, error: str | None) -> None:
    file = tmp_path / "manifest.yaml"
    file.write_text(manifest)
    (verdict,) = argo_oracle.lint([file])
    assert (verdict.file, verdict.ok) == (file, error is None)
    assert error is None or error in "".join(verdict.errors)


def test_lint_resolves_references_among_its_files(tmp_path: Path) -> None:
    template, cron = tmp_path / "template.yaml", tmp_path / "cron.yaml"
    for file, text in zip((template, cron), TEMPLATE_AND_CRON.split("\n---"), strict=True):
        file.write_text(text)
    assert [verdict.ok for verdict in argo_oracle.lint([template, cron])] == [True, True]
    assert [verdict.ok for verdict in argo_oracle.lint([cron])] == [False]


def test_the_controller_is_gone_where_its_process_was_killed(tmp_path: Path) -> None:
    program = f"""
import time
from pathlib import Path
from tests.support import argo_oracle

with argo_oracle.session(Path({str(tmp_path)!r})) as session:
    print(session.controller, flush=True)
    time.sleep(600)
"""
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            controller = int(process.stdout.readline())
            assert is_running(controller)
        finally:
            process.kill()
    until(lambda: not is_running(controller))
