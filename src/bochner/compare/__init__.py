"""Methods side by side on a user's data."""
