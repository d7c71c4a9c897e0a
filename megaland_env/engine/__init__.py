"""The game itself: state, randomness and rules."""
