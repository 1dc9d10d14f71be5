"""Runtimes of the local engine: processes of this machine, or containers of podman and docker."""
