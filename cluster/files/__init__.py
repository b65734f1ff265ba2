"""Files: read what jobs and users wrote, change trees without following links, write whole or not at all."""
