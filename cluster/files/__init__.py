"""Reads files that strangers wrote: opened beneath, without links, plain, size-limited, checked."""
