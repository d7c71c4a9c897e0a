"""Agents for Megaland, each announced as an entry point of the group ``megaland.agents``."""
