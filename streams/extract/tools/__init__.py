"""One module for each external program or library: its types and its exceptions end there."""
