"""How the tables came to be: one revision a file in `versions`, written by hand.

A new revision imports `op` of Alembic, names the one before it, and becomes `HEAD`; tests hold
`HEAD` the last one, and its outcome equal to `couler.state.tables`.
"""

HEAD = "0010"
"""The revision that this program works with; known here so that Alembic need not be loaded."""
