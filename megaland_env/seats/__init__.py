"""Who plays which seat, in games that follow each other."""
