"""Pipelines and maps as ONNX graphs."""
