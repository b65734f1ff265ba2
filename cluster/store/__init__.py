"""Remembers: SQLAlchemy rows, their queries and the migrations. The row is the truth."""
