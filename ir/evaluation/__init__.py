"""Values, conditions and states of a workflow in a run, as docs/semantics.md has it."""
