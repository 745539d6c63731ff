"""Letarte, Morvant and Germain (2019), done again."""
