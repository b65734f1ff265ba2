"""Each adapter talks to one outside program or file format and makes no decisions."""
