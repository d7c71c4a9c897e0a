"""Players that compute what is best."""
