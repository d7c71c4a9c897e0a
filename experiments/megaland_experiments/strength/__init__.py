"""How strong agents are: evaluations, tournaments, ratings."""
