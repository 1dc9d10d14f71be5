"""Workflows that benchmarks read or make."""
