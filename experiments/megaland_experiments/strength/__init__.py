"""Strength of agents: evaluations, tournaments, ratings."""
