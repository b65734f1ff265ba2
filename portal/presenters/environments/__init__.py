"""The values of pages that show environments and of forms that choose one."""
