"""One file per step, in order; a released one is never changed."""
