"""The product's own files: folders, free space, and files without a row."""
