"""Files outside of a workflow: fetched from where they lie, and put where they are to be kept."""
