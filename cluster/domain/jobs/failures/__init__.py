"""Why jobs fail: the lines of a log that tell the cause, and what is known of them."""
