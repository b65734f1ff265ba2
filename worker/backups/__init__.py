"""Back up the database as readable SQL, verify every backup by a drill, and restore a backup."""
