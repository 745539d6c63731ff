"""Studies as data: what is measured, and the numbers that came out."""
