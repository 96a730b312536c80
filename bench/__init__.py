"""Measurements of the real commands on a real broker; see bench/README.md."""
