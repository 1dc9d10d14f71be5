"""Which tasks run on which nodes of a cluster of unlike machines, and in which order."""
