"""Playing many games, on one core or several."""
