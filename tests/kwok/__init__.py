"""Simulated nodes: kwok says of pods and nodes what a kubelet would, and a player writes what a shim would leave."""
