"""Repair runs: the facts for checks, the probes of hosts, and the process of a playbook."""
