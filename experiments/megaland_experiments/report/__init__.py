"""One page about recorded games or a tournament."""
