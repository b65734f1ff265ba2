"""Services change and read what the rows hold: each verb checks the actor, writes the row and its audit entry, and
publishes the change after the commit; `queries` modules read for pages and REST."""
