"""What a workflow means, the same for verification, every engine and the pods of groups."""
