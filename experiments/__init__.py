"""What one runs: training, evaluation, benchmarks."""
