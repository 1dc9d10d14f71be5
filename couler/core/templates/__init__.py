"""The ancestor's import paths of settings."""
