"""The log: its topics as topics.yaml wants them, the way to its broker, and a broker of one's own for this machine."""
