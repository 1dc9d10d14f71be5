"""What the values, conditions and states of a workflow are in a run, as docs/semantics.md has it.

Pure functions: they run nothing. Engines that evaluate themselves use them, and so do plans of
what would run.

Modules
-------
values, outputs, stored
    Values that are read, outputs that are given, and both as the database holds them.
iteration, status
    Items of a foreach; when a step may start, and how a scope ends.
instances, keys
    Steps at their places in a run, and what they are recognised by.
unknown, replay
    What is known of a run before it goes on: what would be taken over, and what would run.
"""
