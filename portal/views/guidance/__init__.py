"""Help, search, the first steps and the description of REST: what leads people through the portal."""
