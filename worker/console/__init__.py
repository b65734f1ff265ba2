"""The recovery console: a menu of repairs in the terminal of the master."""
