"""Versions and validity: what was true of a document when, and what consumers may see of it now."""
