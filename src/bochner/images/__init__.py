"""Convolutional kernel networks: image features from kernels between patches."""
