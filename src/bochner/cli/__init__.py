"""The commands of the program, one a file; each has a function `register`."""
