"""Values of the pages of nodes, and of the maps and bars that show units."""
