"""One module per group of commands. Only the one of the typed command is loaded."""
