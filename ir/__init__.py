"""The workflow model: an engine-neutral, frozen description of a workflow.

Modules
-------
values, conditions
    What a step reads, and when it runs.
policies, storage, workflow
    Steps and workflows.
wire
    How values travel between steps.
evaluation
    What values, conditions and states are in a run, and what taking it up would do.
walk, graph, paths
    Scopes, edges, and places in a run.
features
    What a workflow asks of an engine.
defaults
    Merging a workflow's defaults into its steps.
verify, diagnostics, codes
    What is wrong with a workflow.
quantity, schedule
    Kubernetes quantities, cron expressions and time zones.
serialize
    JSON and YAML in and out, and the JSON Schema.
"""

if __name__ == "ir":  # reached past the package, e.g. from the repository root
    raise ImportError("import couler.ir, not ir")
