"""Players of the seats: opponents, one learner, self-play, and small tasks."""
