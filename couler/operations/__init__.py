"""What work of machine learning takes, before it runs: operations, memory, and seconds by these."""
