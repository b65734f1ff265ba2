"""The menu on the master for when the portal does not load: the same repairs, forecasts, lock and record."""
