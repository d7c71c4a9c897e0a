"""The rules again, for one game at a time, compiled by Numba (the extra ``fast``).

The chapters and the functions have the names of ``engine/rules/``, and work on the same ``GameState`` by the same
addresses of randomness. So both engines play the same games, bit for bit. ``engine.py`` is the way in.
"""
