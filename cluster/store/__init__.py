"""The database: SQLAlchemy rows, queries that several services share, and the migrations. Rows are the source of
truth.
"""
