"""Pictures of a comparison, as data."""
