"""The language in which programs are written: steps, handles, control flow, settings."""
