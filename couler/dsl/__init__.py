"""The language in which programs are written: steps, handles, control flow, settings.

Modules
-------
workflow, step, processes, calls
    What a program makes: workflows, typed steps, containers, scripts, jobs, requests and pauses.
handles, conditions, edges, control, iteration, loops, dag
    Values known only when the workflow runs, and what is done with them.
signature, types, arguments, shipping
    From a Python function to a step that runs it elsewhere.
builder, scope, drafts, order, bodies, assembly
    What a program has built so far, and the workflow that it becomes.
options, settings, objects, artifacts, secrets
    How steps and workflows run.
submit
    Handing a finished workflow over.
absent
    Names of the ancestor that are gone.
"""
