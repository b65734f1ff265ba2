"""Nodes: their states, GPUs, and what confines jobs on them."""
