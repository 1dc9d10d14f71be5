"""The class that reads YAML: the fast one where there is one."""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    import yaml


def safe_loader() -> type[yaml.CSafeLoader] | type[yaml.SafeLoader]:
    """Return the safe loader in C, or the one in Python where PyYAML was built without libyaml."""
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)
