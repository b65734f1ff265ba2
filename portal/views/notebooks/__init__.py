"""Pages of notebooks, and the gate that nginx asks before it lets a browser in."""
