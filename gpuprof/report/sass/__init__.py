"""Views of machine code: one kernel, its listing, a comparison of two, an overview of a file."""
