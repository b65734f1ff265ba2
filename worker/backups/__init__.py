"""Back up the database as readable SQL, restore every backup once as a drill, and put one back."""
