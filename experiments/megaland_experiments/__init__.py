"""Programs to run: training, evaluation, benchmarks and more."""

import os

# Before anything here imports PyTorch: its idle threads shall sleep, not spin. That costs little on cores of its own.
# On cores that others use too, spinning while one waits for a thread that cannot run made training twenty times slower.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
