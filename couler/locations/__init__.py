"""Files outside of a workflow: fetched from where they lie, and put where they are to be kept.

The local engine does so itself; elsewhere `python -m couler.io` does, in a container beside a step.
"""
