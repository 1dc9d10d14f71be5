"""Engines: each folder turns a workflow into what one engine understands."""

if __name__ == "backends":  # reached past the package, e.g. from the repository root
    raise ImportError("import couler.backends, not backends")
