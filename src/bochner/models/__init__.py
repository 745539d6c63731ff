"""Whole models: columns made numbers, a feature map, and a linear model on top."""
