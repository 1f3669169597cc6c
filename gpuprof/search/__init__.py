"""Searching a list of points: strategies and budgets. Knows points and their costs, no device and no build."""
