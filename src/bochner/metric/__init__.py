"""A learned metric: which columns and directions matter, before any map."""
