"""``MegalandConfig``: the options of a game."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import Any, TypedDict

import numpy as np

from megaland_env.cards import (
    MARKET_SIZE,
    MAX_PLAYERS,
    MIN_PLAYERS,
    NORMAL_BUILDINGS,
    STAR_BUILDINGS,
    STAR_COPIES,
    Building,
)
from megaland_env.checks import as_integer

MARKET_RULES = ("spread", "random")
PAYMENTS = ("choose", "auto")
LONGEST_GAME = 10_000  # rounds; catches typing errors, and is far below the limit of the random number addresses
MOST_COPIES = 20  # of one star building; counts are bytes, and no player could use more


class ConfigFields(TypedDict, total=False):
    """Fields of ``MegalandConfig`` as keyword arguments, accepted in place of ``config`` wherever games are made."""

    num_players: int
    market: str | Sequence[str | Building]
    first_player: int | None
    payment: str
    skip_forced: bool
    max_rounds: int
    star_copies: Sequence[int]


class ConfigError(ValueError):
    """An invalid configuration; the message says what is allowed."""


@dataclass(frozen=True)
class MegalandConfig:
    """Configuration of a game; checked on construction, and immutable.

    Attributes:
        num_players: number of seats (P), 2 to 5 (C1).
        market: the seven normal buildings on offer (S1): ``"spread"`` draws a set with every cost from 1 to 5,
            ``"random"`` draws any set; seven names (``"Lodge"``, ``"lodge"`` or ``"LODGE"``) or ``Building`` members
            fix it. Names are stored as spelled in the rules, in the order of the rules.
        first_player: the seat that begins (S2); drawn at random if ``None``.
        payment: with ``"choose"`` players choose the treasures they pay with, the full game; ``"auto"`` chooses for
            them, of the legal types the one held most, and of equals the one with the most copies.
        skip_forced: seats with exactly one legal action are not asked.
        max_rounds: number of rounds after which an unfinished game is truncated (D4).
        star_copies: number of copies of each of the six star buildings, in the order of C6 (C7).

    Raises:
        ConfigError: a field is invalid; values are neither rounded nor guessed.
    """

    num_players: int = 4
    market: str | tuple[str, ...] = "spread"
    first_player: int | None = None
    payment: str = "choose"
    skip_forced: bool = True
    max_rounds: int = 50
    star_copies: tuple[int, ...] = STAR_COPIES

    def __post_init__(self) -> None:
        set_field = partial(object.__setattr__, self)  # the way to normalise a field of a frozen dataclass
        set_field("num_players", _integer("num_players", self.num_players, MIN_PLAYERS, MAX_PLAYERS))
        set_field("max_rounds", _integer("max_rounds", self.max_rounds, 1, LONGEST_GAME))
        if self.first_player is not None:
            set_field("first_player", _integer("first_player", self.first_player, 0, self.num_players - 1, " or None"))
        if self.payment not in PAYMENTS:
            raise ConfigError(f"payment is {self.payment!r}; it must be one of {PAYMENTS}")
        if not isinstance(self.skip_forced, bool):
            raise ConfigError(f"skip_forced is {self.skip_forced!r}; it must be True or False")
        copies = self.star_copies
        if isinstance(copies, np.ndarray):
            copies = copies.tolist()
        if isinstance(copies, str) or not isinstance(copies, Sequence) or len(copies) != len(STAR_BUILDINGS):
            raise ConfigError(f"star_copies is {copies!r}; it must be a sequence of {len(STAR_BUILDINGS)} integers")
        named = zip(STAR_BUILDINGS, copies, strict=True)
        set_field(
            "star_copies", tuple(_integer(f"star_copies of {star.label}", n, 0, MOST_COPIES) for star, n in named)
        )
        set_field("market", _market(self.market))

    @property
    def market_buildings(self) -> tuple[Building, ...] | None:
        """The seven normal buildings named in ``market``, or ``None`` if they are drawn."""
        if isinstance(self.market, str):
            return None
        return tuple(building_named(name) for name in self.market)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dict that ``json.dumps`` accepts."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> MegalandConfig:
        """Make a configuration from the result of ``to_dict``.

        Raises:
            ConfigError: a field is unknown or invalid.
        """
        known = [field.name for field in fields(cls)]
        unknown = [name for name in values if name not in known]
        if unknown:
            raise ConfigError(f"unknown configuration field {unknown[0]!r}; the fields are {', '.join(known)}")
        fields_: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
        }
        return cls(**fields_)


def config_of(
    config: MegalandConfig | Mapping[str, Any] | None, config_fields: Mapping[str, Any], owner: Callable[..., Any]
) -> MegalandConfig:
    """Return the configuration given as ``config`` or field by field, or else the default.

    Args:
        config: the whole configuration, or a mapping for ``MegalandConfig.from_dict``.
        config_fields: keyword arguments that should be fields of ``MegalandConfig``.
        owner: the class or function that was called with them, for the message.

    Raises:
        TypeError: both were given, or a keyword is unknown; the message suggests the most similar parameters of
            ``owner``.
        ConfigError: a field is invalid.
        ValueError: ``config`` is neither a ``MegalandConfig`` nor a mapping.
    """
    known = [field.name for field in fields(MegalandConfig)]
    for name in config_fields:
        if name == "max_episode_steps":  # which gymnasium.make_vec passes on
            raise TypeError(
                f"{owner.__name__}() has no max_episode_steps: max_rounds cuts games off, and "
                "gymnasium.make_vec(..., vectorization_mode='sync') limits the steps"
            )
        if name not in known:
            near = difflib.get_close_matches(name, [*inspect.signature(owner).parameters, *known], n=2)
            hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else f"; the game has {', '.join(known)}"
            raise TypeError(f"{owner.__name__}() got an unexpected keyword argument {name!r}{hint}")
    if config is None:
        return MegalandConfig(**config_fields)
    if config_fields:
        named = ", ".join(config_fields)
        raise TypeError(f"{owner.__name__}() takes config or its fields, not both: config and {named} were given")
    if isinstance(config, Mapping):  # as EnvSpec.to_json of Gymnasium makes it
        return MegalandConfig.from_dict(config)
    if not isinstance(config, MegalandConfig):
        raise ValueError(f"config is {config!r}; it must be a MegalandConfig, or a dict of its fields")
    return config


def building_named(name: str | Building) -> Building:
    """Return the building with a name; case does not matter, and underscores may stand for blanks.

    Raises:
        ConfigError: there is no such building; the message suggests the most similar name.
    """
    if isinstance(name, Building):
        return name
    if isinstance(name, str):
        key = name.strip().replace(" ", "_").upper()
        if key in Building.__members__:
            return Building[key]
        near = difflib.get_close_matches(key, Building.__members__, n=1)
        hint = f"; did you mean {Building[near[0]].label!r}?" if near else ""
        raise ConfigError(f"there is no building {name!r}{hint}")
    raise ConfigError(f"a building must be given by its name, not by {name!r}")


def _market(market: Any) -> str | tuple[str, ...]:
    if isinstance(market, str):
        if market not in MARKET_RULES:
            near = difflib.get_close_matches(market, MARKET_RULES, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise ConfigError(
                f"market is {market!r}{hint}; it must be one of {MARKET_RULES} or {MARKET_SIZE} normal buildings"
            )
        return market
    if not isinstance(market, Sequence):
        raise ConfigError(f"market is {market!r}; it must be one of {MARKET_RULES} or {MARKET_SIZE} normal buildings")
    buildings = [building_named(name) for name in market]
    stars = [building.label for building in buildings if building not in NORMAL_BUILDINGS]
    if stars:
        raise ConfigError(f"market names {stars[0]!r}, a star building; those are always on offer")
    if len(set(buildings)) != len(buildings):
        raise ConfigError(f"market names a building twice: {[building.label for building in buildings]}")
    if len(buildings) != MARKET_SIZE:
        raise ConfigError(f"market names {len(buildings)} normal buildings; it must name {MARKET_SIZE}")
    return tuple(building.label for building in sorted(buildings))


def _integer(name: str, value: Any, low: int, high: int, also: str = "") -> int:
    number = as_integer(value)
    if number is None:
        raise ConfigError(f"{name} is {value!r}; it must be an integer from {low} to {high}{also}")
    if not low <= number <= high:
        raise ConfigError(f"{name} is {value}; it must be from {low} to {high}{also}")
    return number
