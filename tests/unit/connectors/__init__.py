"""Tests of the connectors: real files, a real store of the test, no broker."""
