"""Damaged and hostile files without end: decode and unpack may refuse any of them, and fail on none.

    python -m fuzz decode|unpack [--seconds N] [--seed S] [--keep FOLDER] [FILES or FOLDERS...]

Each round takes a file that the tests make (or one that is given), changes it here and there, and hands it to a child
process with a memory limit. An exception, a broken promise of the result, a call over 5 seconds of work and a growth of
over 500 MB are findings: they are printed with the seed, and the changed file is kept.
"""
