"""Features learned in a game against the margin: on R^d, and on the unit sphere."""
