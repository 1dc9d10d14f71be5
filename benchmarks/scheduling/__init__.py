"""Simulations of online scheduling: OASiS and SpeCon beside baselines, workloads and bounds."""
