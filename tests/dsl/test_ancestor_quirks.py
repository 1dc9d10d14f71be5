"""The quirks of the earlier SDK one by one: which were kept, which are gone, and what shows it."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import couler
import couler.argo as argo
from couler import stages
from couler.core.workflow_validation_utils import validate_workflow_yaml
from tests.dsl.look import box, codes, implicit, waits

HERE = Path(__file__).parent

GONE = {
    # state
    "one workflow for a process and all its threads": (
        "test_submit.test_two_threads_build_two_workflows",
        "test_submit.test_two_tasks_build_two_workflows",
    ),
    "cleaning up leaves things behind": (
        "test_submit.test_cleanup_forgets_the_program_and_no_open_block",
    ),
    "an exit handler that raises takes the steps after it": (
        "test_settings.test_an_exit_handler_that_raises_leaves_later_steps_alone",
        "test_ancestor_defects.test_a_handler_that_raises_leaves_no_name_behind",
    ),
    "a failed submission keeps the state": (
        "test_submit.test_a_failed_submission_leaves_nothing_behind",
        "test_ancestor_programs.test_a_notebook_makes_several_workflows_and_mistakes",
    ),
    "the manifest is printed when an embedding program raises": (
        "test_ancestor_quirks.test_a_program_that_raises_prints_nothing_of_ours",
    ),
    # names
    "names depend on lines and on how the program is started": (
        "test_ancestor_defects.test_names_do_not_depend_on_lines_or_on_how_the_program_is_started",
        "test_ancestor_programs.test_names_are_the_same_however_a_program_is_started",
    ),
    "random names": ("test_ancestor_defects.test_the_same_program_gives_the_same_text",),
    "a loop on one line gives a name twice": (
        "test_ancestor_defects.test_a_loop_on_one_line_gives_unique_names",
    ),
    "of two calls in a function the second image is lost": (
        "test_ancestor_defects.test_two_calls_in_one_function_keep_both_images",
    ),
    "names that Argo refuses": (
        "test_ancestor_quirks.test_names_with_underscores_become_names_of_argos",
    ),
    # data
    "arguments after a list are dropped": (
        "test_ancestor_defects.test_arguments_after_a_list_of_outputs_are_kept",
        "test_ancestor_defects.test_the_list_of_outputs_as_arguments_is_all_of_them",
    ),
    "what the caller passes is changed": (
        "test_ancestor_defects.test_what_the_caller_passes_is_not_changed",
    ),
    "sharing an output takes exponential time": (
        "test_ancestor_defects.test_sharing_one_output_many_times_takes_no_longer",
    ),
    "outputs are passed without a way to prevent it": (
        "test_ancestor_defects.test_passing_outputs_can_be_switched_off_for_a_workflow",
        "test_ancestor_programs.test_outputs_are_passed_where_the_program_says_so",
    ),
    "values and files do not mix, relative paths and folders of the system break": (
        "test_ancestor_defects.test_mixed_outputs_and_relative_and_system_paths",
    ),
    "names with dots are misread": (
        "test_ancestor_defects.test_names_with_dots_are_reported_and_not_misread",
    ),
    "a global output is read by a wrong name": (
        "test_programs.test_the_listings_say_what_the_paper_says",
    ),
    # graphs
    "a graph is a switch for the whole workflow, and steps before it vanish": (
        "test_order.test_dag_makes_the_order_explicit_and_keeps_earlier_steps",
        "test_ancestor_defects.test_a_graph_inside_a_group_leaves_the_order_around_it",
        "test_ancestor_defects.test_the_steps_of_a_task_run_in_their_order_inside_a_graph_too",
    ),
    "a condition drops arguments and dependencies": (
        "test_ancestor_defects.test_when_inside_a_graph_keeps_arguments_and_dependencies",
        "test_ancestor_programs.test_branches_in_a_graph_wait_for_all_that_they_name",
    ),
    "loops, maps and concurrent steps fall apart": (
        "test_ancestor_defects.test_loops_concurrent_and_maps_inside_a_graph_are_whole",
        "test_ancestor_programs.test_a_map_waits_and_is_waited_for",
        "test_ancestor_programs.test_functions_side_by_side_in_a_graph",
    ),
    "a root that gets a predecessor later breaks, edges are kept twice": (
        "test_ancestor_programs.test_a_root_may_get_a_predecessor_later_and_edges_are_kept_once",
        "test_dag.test_a_root_may_get_a_dependency_later",
    ),
    "names must be known before they are used": (
        "test_dag.test_dependencies_by_name_before_and_after",
    ),
    "no check for unknown names and cycles": (
        "test_dag.test_an_unknown_name_is_reported",
        "test_ancestor_quirks.test_a_cycle_is_reported",
    ),
    "both ways to name dependencies in one graph": (
        "test_ancestor_quirks.test_lists_and_texts_of_dependencies_go_together",
    ),
    # maps, loops, scripts
    "a map needs lists, and a function that returns an output": (
        "test_ancestor_defects.test_a_map_may_follow_a_map_and_take_a_helper_that_returns_nothing",
        "test_iteration.test_lists_may_be_anything_that_has_items",
        "test_iteration.test_an_empty_list_is_a_list",
    ),
    "the result of a map leads nowhere": (
        "test_ancestor_programs.test_maps_and_reductions_follow_one_another",
    ),
    "a second loop over a function raises": (
        "test_ancestor_defects.test_two_loops_over_one_function_are_two_loops",
    ),
    "an exit handler must return something": (
        "test_settings.test_the_ancestors_exit_handlers",
        "test_ancestor_programs.test_handlers_stand_for_the_ends_that_they_name",
    ),
    "the body of a script begins after the first colon": (
        "test_ancestor_defects.test_script_bodies_with_colons_and_annotations_are_whole",
    ),
    "what a script needs is not there": (
        "test_shipping.test_what_would_be_missing_is_reported_at_the_function",
        "test_shipping.test_other_decorators_are_not_shipped",
    ),
    "a function and an interpreter do not go together": (
        "test_ancestor_defects.test_a_script_may_name_its_interpreter",
    ),
    # types
    "retry=True": ("test_ancestor_quirks.test_a_truth_is_no_number_of_retries",),
    "an empty environment and a secret raise": (
        "test_ancestor_defects.test_an_empty_environment_and_a_secret_go_together",
    ),
    "operands are pasted into conditions": (
        "test_ancestor_defects.test_conditions_on_text_with_quotes_and_blanks",
    ),
    "truths of a schedule are text": (
        "test_ancestor_programs.test_every_setting_of_a_schedule_is_kept",
    ),
    "a claim of a volume has no defaults": (
        "test_ancestor_defects.test_volume_claims_have_defaults_again",
        "test_ancestor_programs.test_volumes_of_the_run_and_of_the_cluster",
    ),
    # platform
    "time zone, deadline and names of one company": (
        "test_ancestor_defects.test_time_is_utc_and_names_are_not_random",
    ),
    "the name of a secret is made of its values": (
        "test_ancestor_defects.test_the_name_of_a_secret_tells_nothing_of_its_values",
    ),
    "secrets that are not to be made are made": (
        "test_settings.test_dry_runs_and_existing_secrets_are_never_made",
    ),
    "secrets and workflow in different namespaces": (
        "test_submit.test_a_secret_is_made_where_the_workflow_runs",
        "test_submit.test_a_secret_that_pods_could_not_read_is_refused",
    ),
    "an account is lost at the next setting": (
        "test_ancestor_defects.test_config_without_an_account_keeps_the_account",
    ),
    "a submitter must be a class of the package, and a subclass is not used": (
        "test_submit.test_a_submitter_may_be_a_class_and_a_subclass",
    ),
    "a schedule cannot be submitted twice": (
        "test_submit.test_objects_with_a_name_of_their_own_are_replaced",
    ),
}

KEPT = {
    "names": ("test_absent.test_every_name_of_the_ancestor_is_there_or_says_what_to_use",),
    "import paths": (
        "test_submit.test_the_ancestors_ways_in",
        "test_manifest_check.test_the_names_of_argos_objects",
    ),
    "order of arguments": ("test_ancestor_quirks.test_arguments_by_position",),
    "a list of outputs with value and path": (
        "test_ancestor_defects.test_an_output_knows_its_path_and_its_value",
    ),
    "outputs of dependencies as arguments": (
        "test_dag.test_outputs_of_named_steps_become_arguments",
        "test_dag.test_outputs_of_jobs_become_arguments",
    ),
    "every key of a secret is a variable": (
        "test_ancestor_programs.test_secrets_are_references_with_their_keys",
    ),
}


@pytest.mark.parametrize("quirk", [*GONE, *KEPT])
def test_every_quirk_has_a_test(quirk: str) -> None:
    for place in {**GONE, **KEPT}[quirk]:
        module, _, function = place.partition(".")
        text = (HERE / f"{module}.py").read_text(encoding="utf-8")
        assert re.search(rf"^def {function}\(", text, flags=re.M), place


def test_a_program_that_raises_prints_nothing_of_ours() -> None:
    program = """
import logging
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter
couler.run_container("alpine:3.20", ["echo", "hello"], step_name="hello")
submitter = ArgoSubmitter()
assert logging.getLogger().handlers == []
raise SystemExit("a mistake of the program")
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(Path(couler.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "a mistake of the program\n")


def test_names_with_underscores_become_names_of_argos() -> None:
    couler.dag([[lambda: box("load_data"), lambda: box("fit.model")]])
    assert codes(implicit()) == ["CLR150"]
    couler._cleanup()
    couler.dag([[lambda: box("load_data"), lambda: box("fit_model")]])
    assert waits(implicit()) == {"load_data": (), "fit_model": ("load_data",)}
    tasks = couler.workflow_yaml()["spec"]["templates"][0]["dag"]["tasks"]
    assert [(task["name"], task.get("depends")) for task in tasks] == [
        ("load-data", None),
        ("fit-model", "load-data"),
    ]


def test_a_cycle_is_reported() -> None:
    couler.set_dependencies(lambda: box("a"), ["b"])
    couler.set_dependencies(lambda: box("b"), ["a"])
    assert codes(implicit()) == ["CLR202"]


def test_lists_and_texts_of_dependencies_go_together() -> None:
    couler.set_dependencies(lambda: box("a"))
    couler.set_dependencies(lambda: box("b"), ["a"])
    couler.set_dependencies(lambda: box("c"), "a && (b.Failed || b.Succeeded)")
    text = stages.compile(implicit(), "argo", format="json").to_text()
    manifest = json.loads(text)
    validate_workflow_yaml(manifest)
    assert '"dependencies"' not in text
    tasks = {task["name"]: task for task in manifest["spec"]["templates"][0]["dag"]["tasks"]}
    assert tasks["b"]["depends"] == "a"


def test_a_truth_is_no_number_of_retries() -> None:
    box("a", retry=True)
    assert codes(implicit()) == ["CLR105"]


def test_what_the_workflow_of_the_program_has_no_more() -> None:
    for name in ("templates", "dag_tasks", "get_template", "get_steps_dict"):
        with pytest.raises(AttributeError, match=r"couler\.workflow_yaml\(\) is the manifest"):
            getattr(argo.workflow, name)
    with pytest.raises(AttributeError, match=r"^couler\.workflow has no attribute 'nonsense'$"):
        _ = argo.workflow.nonsense


_PROCESS = "output input env {} secret resources timeout retry step_name image_pull_policy pool"
_POD = "enable_ulogfs daemon volume_mounts working_dir node_selector cache"
_JOB = "timeout retry step_name pool env action set_owner_reference cache"
_CLIENT = "namespace config_file context client_configuration persist_config"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("run_container", f"image command args {_PROCESS} {_POD} parallelism".format("env_from")),
        ("run_script", f"image command source args {_PROCESS} {_POD}".format("")),
        (
            "run_job",
            f"manifest success_condition failure_condition {_JOB}",
        ),
        ("when", "condition function"),
        ("concurrent", "function_list subtasks"),
        ("map", "function"),
        ("exec_while", "condition inner"),
        ("dag", "dependency_graph"),
        ("set_dependencies", "step_function dependencies"),
        ("set_exit_handler", "status exit_handler"),
        ("set_dns", "policy"),
        ("add_toleration", "toleration"),
        ("add_image_pull_secret", "image_pull_secret"),
        ("add_volume", "volume"),
        ("equal", "pre post"),
        ("smaller_equal", "pre post"),
        (
            "config_workflow",
            "name user_id timeout time_to_clean cluster_config_file cron_config service_account",
        ),
        ("config_defaults", "name_salter service_account"),
        ("create_parameter_artifact", "path is_global"),
        ("create_local_artifact", "path is_global"),
        ("create_secret", "secret_data namespace name dry_run use_existing artifact_secret"),
        ("obtain_secret", "secret_keys namespace name dry_run"),
        ("get_secret", "name"),
        ("get_step_output", "step_name"),
        ("run", "submitter"),
        ("delete", f"name {_CLIENT} grace_period_seconds propagation_policy"),
        ("ArgoSubmitter", _CLIENT),
        ("Cache", "name key max_age"),
        ("Toleration", "key effect operator"),
        ("Volume", "name claim_name"),
        ("VolumeMount", "name mount_path"),
        ("VolumeClaimTemplate", "claim_name access_modes size"),
        ("ImagePullSecret", "name"),
        ("DnsConfig", "nameservers options searches"),
        ("DnsConfigOption", "name value"),
    ],
)
def test_arguments_by_position(name: str, arguments: str) -> None:
    found = [
        one.name
        for one in inspect.signature(getattr(argo, name)).parameters.values()
        if one.kind is one.POSITIONAL_OR_KEYWORD
    ]
    assert found[: len(arguments.split())] == arguments.split()
