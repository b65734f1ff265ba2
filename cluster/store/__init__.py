"""The database: SQLAlchemy rows, queries shared by several services, and the migrations. The row is the truth."""
