"""Runs of repairs: facts for checks, probes of hosts, and the process of a playbook."""
