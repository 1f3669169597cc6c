"""Views of a run: the table on the terminal, Markdown, CSV, HTML. Nothing here computes a result."""
