"""Thin adapters to the environment APIs; none decides a rule."""
