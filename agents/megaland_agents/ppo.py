"""``PPOAgent``: a trained policy, by default the champion that comes with this package.

The format of policies, and how they are written and read, is in ``megaland_agents.policy_file``.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from megaland_env.extras import needs

with needs("the agent ppo", "train"):
    import safetensors  # noqa: F401  policy_file reads with it; a missing library is reported on import
    import torch

from megaland_agents.policy_file import PolicyError, load_policy
from megaland_env import Decisions
from megaland_env.checks import check_seed
from megaland_env.observation import encode

CHAMPION = Path(__file__).parent / "checkpoints" / "champion"
"""The policy that comes with this package."""


class PPOAgent:
    """A policy trained with PPO, by default the champion that comes with this package.

    It chooses the most likely action (``greedy``), or samples an action from the probabilities of the policy, with the
    randomness of the deciding seat. Either way a decision gets the same answer in any batch, except for rounding in the
    matrix products, which may depend on the number of rows.

    Args:
        path: the folder of the policy.
        greedy: whether to choose the most likely action always, rather than sample.
        seed: for sampling; agents with different seeds sample independently.

    Attributes:
        provenance: where the policy comes from, as recorded when it was saved.

    Raises:
        PolicyError: there is no such policy, it is damaged, or it has other features or actions.
        ValueError: ``greedy`` is not a bool, or ``seed`` not an integer.
    """

    def __init__(self, path: str | Path = CHAMPION, greedy: bool = True, seed: int = 0) -> None:
        if not isinstance(greedy, bool):
            raise ValueError(f"greedy is {greedy!r}; it must be True or False")
        check_seed(seed)
        if not isinstance(path, (str, os.PathLike)):
            raise PolicyError(f"path is {path!r}; it must be the folder of a policy")
        self.path = Path(path)
        self.greedy = greedy
        self.seed = seed
        self._network, self.provenance = load_policy(path)

    def act(self, decisions: Decisions) -> npt.NDArray[np.int64]:
        """(M,) actions."""
        logits = np.where(decisions.legal, self.logits(decisions), -np.inf)
        actions: npt.NDArray[np.int64]
        if self.greedy:
            actions = logits.argmax(axis=1)
            return actions
        # The first action at which the cumulative sum exceeds a uniform fraction of the total. Illegal actions add 0 to
        # the sum, so none of them is ever the first; and the fraction is below 1, so there always is a first.
        cumulative = np.exp(logits - logits.max(axis=1, keepdims=True), dtype=np.float64).cumsum(axis=1)
        fraction = decisions.random(1, seed=self.seed)
        actions = (cumulative > fraction * cumulative[:, -1:]).argmax(axis=1)
        return actions

    def logits(self, decisions: Decisions) -> npt.NDArray[np.float32]:
        """(M, 40) outputs of the network for all actions, legal or not."""
        # In one layout with either engine: PyTorch rounds sums of another one differently.
        observations = np.asfortranarray(encode(decisions))
        with torch.no_grad():
            logits: npt.NDArray[np.float32] = self._network(torch.from_numpy(observations)).numpy()
        return logits
