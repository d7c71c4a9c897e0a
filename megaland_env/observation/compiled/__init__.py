"""Observations again, one row at a time, compiled by Numba (the extra ``fast``)."""
