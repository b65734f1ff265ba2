"""What open pages follow, in a process of its own (`python -m portal.live`): events, growing files, logs."""
