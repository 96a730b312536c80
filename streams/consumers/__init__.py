"""Consumers of the log: the SDK of index builders, and the two indexes that are built with it."""
