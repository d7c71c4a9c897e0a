"""The configuration of a training run, and its presets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from itertools import pairwise
from typing import Any

from megaland_agents.policy_file import ACTIVATION_NAMES, MOST_BYTES, MOST_SIZES, WEIGHTS_FILE
from megaland_env import NUM_ACTIONS, MegalandConfig
from megaland_env.checks import is_number
from megaland_env.observation import FEATURES
from megaland_env.rewards import Reward, Shaped, make_reward
from megaland_experiments.matches.arena import MOST_SEEDS

ITSELF, SNAPSHOTS = "itself", "snapshots"
"""Names among the opponents: the current policy, and the league's earlier snapshots of it."""


OPPONENTS = {ITSELF: 0.65, SNAPSHOTS: 0.1, "planner": 0.15, "threshold": 0.08, "random": 0.02}


def shares_text(shares: Mapping[str, float]) -> str:
    """Opponents with their shares, as ``--opponents`` takes them."""
    return " ".join(f"{name}={share}" for name, share in shares.items())


def _option(default: Any, help: str) -> Any:
    """Declare a field of the configuration, with the help text of its command line option."""
    return field(default=default, metadata={"help": help})


_MOST = 10**15
"""Largest value of a number that neither memory nor a library limits; floats up to it count by ones."""
_RANGES = {
    "total_steps": (1, _MOST),
    "seed": (0, 2**32 - 1),  # NumPy's former generator, which Stable-Baselines3 seeds too
    "threads": (1, 1024),
    "num_envs": (1, 2**20),
    "rollout": (1, 2**24),
    "batch_size": (1, _MOST),
    "n_epochs": (1, _MOST),
    "snapshot_every": (1, _MOST),
    "snapshots_kept": (0, 10_000),
    "checkpoint_every": (1, _MOST),
    "anchor_every": (1, _MOST),
    "anchor_games": (0, MOST_SEEDS),
    "eval_games": (0, MOST_SEEDS),
}
"""The least and the largest value of each whole number."""
_MOST_WEIGHTS = (MOST_BYTES[WEIGHTS_FILE] - 2**16) // 4  # float32, after a header
_LEAST_SHARES, _MOST_SHARE = 1e-6, 10**6
"""The least sum of the opponents' shares and the largest share: their ratios and sums stay accurate."""


@dataclass(frozen=True)
class TrainConfig:
    """The configuration of a training run. Each field is also an option of ``megaland train``, with this help text.

    Raises:
        ValueError: a field is invalid.
    """

    folder: str = _option("", "folder of the run (runs/ppo-1, or the next name that is free or has the same run)")
    total_steps: int = _option(2_000_000, "total number of decisions to learn from, such as 2e6")
    players: tuple[int, ...] = _option((2, 3, 4, 5), "numbers of players; all are trained at once")
    markets: tuple[str, ...] = _option(("spread",), "markets of the games: spread, random or both")
    seed: int = _option(0, "seed of the networks, the games and the drawn actions")
    threads: int = _option(1, "number of PyTorch's threads; more than one hardly helps a network of this size")

    num_envs: int = _option(1024, "number of games played at once")
    rollout: int = _option(32_768, "number of decisions between two updates")
    batch_size: int = _option(4096, "number of decisions in each gradient step")
    n_epochs: int = _option(4, "number of passes over the decisions in each update")
    learning_rate: float = _option(2e-3, "learning rate at the beginning; it falls linearly to 0")
    gamma: float = _option(1.0, "discount per decision")
    gae_lambda: float = _option(0.95, "lambda of the generalised advantage estimate")
    clip_range: float = _option(0.2, "clipping range of the probability ratio")
    ent_coef: float = _option(0.01, "weight of the entropy bonus at the beginning; it falls linearly to 0")
    vf_coef: float = _option(0.5, "weight of the value loss")
    max_grad_norm: float = _option(0.5, "largest norm of a gradient")
    hidden: tuple[int, ...] = _option((128, 128), "sizes of the hidden layers of the policy and of the value network")
    activation: str = _option("relu", "activation between the layers: tanh or relu")
    warm_start: str = _option(
        "",
        "folder of a run whose last networks this one begins with, with a new optimiser; default: random networks",
    )
    reward: str = _option("shaped", "reward: win, coins or shaped (with the same discount)")

    opponents: dict[str, float] = field(
        default_factory=OPPONENTS.copy,
        metadata={
            "help": "opponents in the other seats, with their shares: agents, itself and its snapshots "
            f"({shares_text(OPPONENTS)})"
        },
    )
    same_opponent_share: float = _option(
        0.0, "share of the games in which all seats other than the learner's have the same opponent"
    )
    snapshot_every: int = _option(500_000, "number of decisions between two snapshots")
    snapshots_kept: int = _option(4, "number of snapshots in the league; the easiest leaves")

    checkpoint_every: int = _option(500_000, "number of decisions between two checkpoints")
    anchor_every: int = _option(250_000, "number of decisions between two points of the learning curve")
    anchor_games: int = _option(500, "number of games in each measurement of the learning curve; 0 for none")
    eval_games: int = _option(4000, "number of games in each evaluation at the end; 0 for none")
    eval_sampled: bool = _option(False, "evaluate with actions drawn from the policy instead of the most likely ones")

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if type(each.default) is int:
                object.__setattr__(self, each.name, as_whole_number(value, each.name))
            elif isinstance(each.default, tuple) and isinstance(each.default[0], int):
                object.__setattr__(self, each.name, tuple(as_whole_number(size, each.name) for size in value))
        for name, (least, most) in _RANGES.items():
            if not least <= getattr(self, name) <= most:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be a whole number from {least} to {most:,}")
        if not self.hidden or min(self.hidden) < 1:
            raise ValueError(f"hidden is {self.hidden}; it must be one size of at least 1 or several")
        self._check_size_of_networks()
        for name in ("learning_rate", "clip_range", "ent_coef", "vf_coef", "max_grad_norm"):
            if not is_number(getattr(self, name)) or not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} is {getattr(self, name)!r}; it must be a number of at least 0")
        for name in ("gamma", "gae_lambda", "same_opponent_share"):
            if not is_number(getattr(self, name)) or not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)!r}; it must be a number from 0 to 1")
        if self.activation not in ACTIVATION_NAMES:
            raise ValueError(f"activation is {self.activation!r}; it must be one of {', '.join(ACTIVATION_NAMES)}")
        shares = self.opponents.values()
        if not all(is_number(share) and 0 <= share <= _MOST_SHARE for share in shares):
            raise ValueError(
                f"opponents are {self.opponents}; shares are numbers, and no share may be below 0 or above "
                f"{_MOST_SHARE:,}"
            )
        if sum(shares) < _LEAST_SHARES:
            raise ValueError(
                f"opponents are {self.opponents}; one must be above 0, and the sum of the shares at least "
                f"{_LEAST_SHARES}"
            )
        tables = len(self.game_configs())
        if not 1 <= tables <= self.num_envs:
            raise ValueError(f"num_envs is {self.num_envs}; there are {tables} kinds of table to share them out among")
        self.reward_function()

    def _check_size_of_networks(self) -> None:
        """Check that the policy can be saved and read again.

        Raises:
            ValueError: it has too many layers or weights.
        """
        sizes = [len(FEATURES), *self.hidden, NUM_ACTIONS]
        weights = sum((inputs + 1) * outputs for inputs, outputs in pairwise(sizes))
        if len(sizes) > MOST_SIZES or weights > _MOST_WEIGHTS:
            raise ValueError(
                f"hidden is {self.hidden if len(sizes) <= MOST_SIZES else f'{len(self.hidden):,} layers'}, which makes "
                f"a policy of {weights:,} weights; it may have {_MOST_WEIGHTS:,}, in at most {MOST_SIZES - 2} layers"
            )

    def game_configs(self) -> list[MegalandConfig]:
        """Configurations of the full game, one for each number of players and each kind of market."""
        return [MegalandConfig(players, market=market) for players in self.players for market in self.markets]

    def reward_function(self) -> Reward:
        """Make the reward, with the learner's discount if the reward has one."""
        return Shaped(self.gamma) if self.reward == "shaped" else make_reward(self.reward)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as ``json.dumps`` takes them."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TrainConfig:
        """Make a configuration of what ``to_dict`` returns.

        Raises:
            ValueError: a field is unknown or invalid.
        """
        if not isinstance(values, Mapping) or not isinstance(values.get("opponents", {}), Mapping):
            raise ValueError("the configuration of a run and its opponents must be objects")
        values = {_FORMER_NAMES.get(name, name): value for name, value in values.items()}
        unknown = set(values) - {each.name for each in fields(cls)}
        if unknown:
            raise ValueError(f"a training run has no field {sorted(unknown)[0]!r}")
        arguments: dict[str, Any] = {  # checked by the class
            name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
        }
        return cls(**arguments)


_FORMER_NAMES = {"alike": "same_opponent_share"}
"""Names of fields in runs of version 0.1.0, and what they are called now."""


def as_whole_number(value: object, name: str) -> int:
    """Convert a whole number, which may be a float without a fraction, such as 1e6.

    Raises:
        ValueError: the value is something else.
    """
    try:
        if is_number(value) and math.isfinite(value) and value == int(value):
            return int(value)
    except OverflowError:  # more digits than a float can have
        raise ValueError(f"{name} has more digits than a float can have; it must be a smaller number") from None
    raise ValueError(f"{name} is {value!r}; it must be a whole number")


PRESETS: dict[str, dict[str, Any]] = {
    "quick": {},
    "standard": {
        "total_steps": 10_000_000,
        "checkpoint_every": 1_000_000,
        "anchor_every": 1_000_000,
    },
    "long": {
        "total_steps": 36_000_000,
        "markets": ("spread", "random"),
        "num_envs": 2048,
        "rollout": 65_536,
        "snapshot_every": 1_500_000,
        "checkpoint_every": 1_000_000,
        "anchor_every": 1_000_000,
        "anchor_games": 2000,
    },
}
"""The presets: fields of ``TrainConfig`` that differ from their defaults."""
