"""Steps that run in one pod, as one step: what the pass `group` makes of those that it chose."""
