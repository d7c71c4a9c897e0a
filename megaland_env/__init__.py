"""Megaland as a reinforcement-learning environment: the rules, played by a batch of games.

Only NumPy is needed until a module of ``megaland_env.envs`` is imported. If Gymnasium is installed, it is imported too,
and the environments are registered with it.
"""

from megaland_env.actions import NUM_ACTIONS, Action, Kind, action_name
from megaland_env.cards import Building, LevelCard, Treasure
from megaland_env.config import ConfigError, MegalandConfig
from megaland_env.decisions import Decisions, View
from megaland_env.envs.registration import register_with_gymnasium
from megaland_env.errors import IllegalActionError
from megaland_env.game import MegalandGames
from megaland_env.snapshot import SnapshotError

__all__ = [
    "NUM_ACTIONS",
    "Action",
    "Building",
    "ConfigError",
    "Decisions",
    "IllegalActionError",
    "Kind",
    "LevelCard",
    "MegalandConfig",
    "MegalandGames",
    "SnapshotError",
    "Treasure",
    "View",
    "__version__",
    "action_name",
]

__version__ = "0.2.0"

register_with_gymnasium()
