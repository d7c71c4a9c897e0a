"""Agents that follow simple rules."""
