"""The harness: the one place that knows how Faust acknowledges, and where CPU work runs in processes of its own."""
