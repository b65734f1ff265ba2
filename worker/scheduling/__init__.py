"""The scheduler: its loop, the reconciler, starts of attempts, and the watches beside them."""
