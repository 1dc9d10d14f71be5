"""The cache of runs kept to a budget: what policies say, done in the database and the store."""
