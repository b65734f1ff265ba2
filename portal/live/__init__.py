"""The process that open pages follow (`python -m portal.live`): it sends events, growing files and logs."""
