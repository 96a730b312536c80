"""What operators do: run, inspect, triage, look things up, mend the machine."""
