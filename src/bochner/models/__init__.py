"""Whole models: preparation of columns, a feature map, and a linear model on top."""
