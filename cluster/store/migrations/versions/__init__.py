"""One file per migration, in order. A released migration is never changed."""
