"""The language in which programs are written: steps, handles, control flow, settings.

Modules
-------
workflow, step, processes
    What a program makes: workflows, typed steps, containers, scripts and jobs.
handles, conditions, control, iteration, dag
    Values known only when the workflow runs, and what is done with them.
options, settings, objects, artifacts, secrets
    How steps and workflows run.
submit
    Handing a finished workflow over.
"""
