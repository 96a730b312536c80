"""Sources: where documents come from. `base` is the SDK: a new connector is one class."""
