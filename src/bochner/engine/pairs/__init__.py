"""Kernel values between rows and landmarks, wherever the rows are."""
