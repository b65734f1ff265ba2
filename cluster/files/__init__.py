"""Files: read what jobs and users wrote, change trees without following links, and write atomically."""
