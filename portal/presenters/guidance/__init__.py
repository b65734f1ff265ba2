"""Values of help, search, the first steps and the description of REST."""
