// What every page starts.
