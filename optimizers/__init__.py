"""Passes from workflow to workflow, and the pipeline that runs them."""

if __name__ == "optimizers":  # reached past the package, e.g. from the repository root
    raise ImportError("import couler.optimizers, not optimizers")
