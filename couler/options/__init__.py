"""Plugins with options that are chosen by a text, as `split{group_steps=200}`."""
