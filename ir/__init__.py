"""The workflow model: an engine-neutral, frozen description of a workflow."""

if __name__ == "ir":  # reached past the package, e.g. from the repository root
    raise ImportError("import couler.ir, not ir")
