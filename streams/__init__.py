"""Canonry: files, and every later change to them, as a trustworthy stream of canon records."""

__version__ = "0.1.0"
