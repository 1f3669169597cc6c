"""Outputs against the reference: tolerance, comparison, cached verdicts, where wrong elements are."""
