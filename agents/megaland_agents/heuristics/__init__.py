"""Players that follow simple rules."""
