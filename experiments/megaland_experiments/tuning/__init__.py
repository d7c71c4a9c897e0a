"""Fitting the numbers of heuristics."""
