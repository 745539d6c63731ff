"""The commands of the program, one per file; each has a function `register`."""
