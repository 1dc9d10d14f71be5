"""The local engine: runs a workflow on this machine, as processes.

Modules
-------
backend, capabilities
    What the engine can do, and the object that the registry loads.
run, interpret
    A whole run; the steps of a scope.
values, iteration, status, retries, outputs
    What a workflow means, as functions without side effects.
leaf, container, process, request, store
    What a step does to the machine.
parameters, packages, secrets, masking, signals
    What a run needs from outside.
result
    What a run tells.
"""

from couler.backends.local.backend import LocalBackend

__all__ = ["LocalBackend"]
