"""Bullins, Zhang and Zhang (2018), done again."""
