"""Environments of other libraries, and those of this project, each playing random legal actions without end.

Each is driven in the way that its library documents, in a loop that is as short as can be. A game that is over is
followed by a new one. All of this is part of what is timed in ``peers``, and so is the choice of the actions.

==========  ============================================================================================================
OpenSpiel   the Python API of its states; chance events are drawn in Python, as in its examples
PettingZoo  AEC environments with their usual wrappers; ``last`` is read in each turn
Pgx         many steps of the whole batch in one compiled function (``jax.lax.scan``), which also chooses
Megaland    ``MegalandGames``, with and without masks and observations; the environments for one game as they are
==========  ============================================================================================================
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from megaland_env import MegalandConfig
from megaland_env.extras import install_command
from megaland_experiments.speed.benchmark import (
    AdapterRun,
    AECRun,
    GymnasiumRun,
    ParallelRun,
    Runner,
    megaland_aec,
    named,
)

Play = Callable[[], int]
"""Plays for a short while, and returns the number of decisions made."""

PLAYERS = 4
BATCHES = (1, 64, 1024, 8192)
"""Numbers of games at once for ``MegalandGames``; Pgx plays all but the first."""

ACTIONS, ALL = "legal actions", "mask, observation"
"""What the player reads before each decision."""

OPENSPIEL_GAMES = ("pig", "leduc_poker", "gin_rummy")
PETTINGZOO_GAMES = ("connect_four_v3", "leduc_holdem_v4")
PGX_GAMES = {"connect_four": 1, "leduc_holdem": 6, "2048": 16, "backgammon": 8}
"""Games of Pgx, and the number of steps between resets of the games that are over.

A reset takes about as long as a step, since ``init`` runs for the whole batch. Each of these numbers was the fastest
of several. Steps of a game that is over are not counted.
"""
PGX_DECISIONS = 65536  # in one call at most, if the steps between two resets are not more


@dataclass(frozen=True)
class Contestant:
    """An environment to measure.

    Attributes:
        library: name of the library.
        packages: its distributions, whose versions are reported; the first is the library itself.
        install: the command that installs it; empty if it is always there.
        name: name of the game, or of one of this project's environments.
        batch: number of games at once (N).
        reads: what the player reads before each decision, ``ACTIONS`` or ``ALL``.
        start: sets the environment up. Raises ``ModuleNotFoundError`` if the library is not installed.
        engine: the engine that plays, for this project's environments.
    """

    library: str
    packages: tuple[str, ...]
    install: str
    name: str
    batch: int
    reads: str
    start: Callable[[], Play]
    engine: str = ""


def contestants(engines: Sequence[str]) -> list[Contestant]:
    """Everything that is measured.

    Args:
        engines: the engines that play this project's games, as in ``MegalandGames``.
    """
    found = [
        Contestant("OpenSpiel", ("open_spiel",), "pip install open_spiel", game, 1, ACTIONS, partial(openspiel, game))
        for game in OPENSPIEL_GAMES
    ]
    found += [
        Contestant(
            "PettingZoo",
            ("pettingzoo", "rlcard"),
            'pip install "pettingzoo[classic]"',
            game,
            1,
            ALL,
            partial(pettingzoo_classic, game),
        )
        for game in PETTINGZOO_GAMES
    ]
    found += [
        Contestant("Pgx", ("pgx", "jax"), "pip install pgx jax", game, batch, ALL, partial(pgx_on_cpu, game, batch))
        for game in PGX_GAMES
        for batch in BATCHES[1:]
    ]
    for engine in dict.fromkeys(map(named, engines)):
        found += _ours(engine)
    return found


def _ours(engine: str) -> list[Contestant]:
    """The environments of this project."""
    packages = ("megaland", "numba") if engine == "compiled" else ("megaland",)
    environments: dict[str, Callable[[int, int, str], AdapterRun]] = {
        "PettingZoo AEC": megaland_aec,
        "PettingZoo Parallel": ParallelRun,
        "Gymnasium": GymnasiumRun,
    }
    found = [
        Contestant(
            "Megaland", packages, install_command("envs"), name, 1, ALL, partial(one_environment, make, engine), engine
        )
        for name, make in environments.items()
    ]
    return found + [
        Contestant(
            "Megaland", packages, "", "MegalandGames", batch, reads, partial(many_games, batch, engine, reads), engine
        )
        for reads in (ACTIONS, ALL)
        for batch in BATCHES
    ]


# ---------------------------------------------------------------------------------------------------- the libraries


def openspiel(name: str) -> Play:
    """Whole games of OpenSpiel."""
    import pyspiel

    game = pyspiel.load_game(name)
    randomness = random.Random(0)

    def play() -> int:
        decisions = 0
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                outcomes, weights = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(randomness.choices(outcomes, weights)[0])
            else:
                legal = state.legal_actions()
                state.apply_action(legal[int(randomness.random() * len(legal))])
                decisions += 1
        return decisions

    return play


def pettingzoo_classic(name: str) -> Play:
    """Turns of one of PettingZoo's classic games."""
    return _turns(AECRun(import_module(f"pettingzoo.classic.{name}").env()))


def one_environment(make: Callable[[int, int, str], AdapterRun], engine: str) -> Play:
    """Steps of one of this project's environments for a single game."""
    return _turns(make(PLAYERS, 1, engine))


def _turns(run: AdapterRun) -> Play:
    def play() -> int:
        run.choose()
        return run.step()

    return play


def many_games(batch: int, engine: str, reads: str) -> Play:
    """Steps of ``MegalandGames``."""
    runner = Runner(MegalandConfig(num_players=PLAYERS), batch, engine=engine)
    return runner.play if reads == ACTIONS else lambda: runner.step()[0]


def pgx_on_cpu(name: str, batch: int) -> Play:
    """Steps of a batch of games of Pgx on the CPU; an environment's step includes its mask and its observation."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_platforms", "cpu")  # before Pgx makes its first array
    import pgx
    from pgx.experimental import act_randomly

    steps = PGX_GAMES[name]
    env = pgx.make(name)
    init, step = jax.vmap(env.init), jax.vmap(env.step)

    def over(state: Any) -> Any:
        return state.terminated | state.truncated

    def one_step(carry: Any, _: None) -> tuple[Any, None]:
        state, key, decisions = carry
        key, choosing, chance = jax.random.split(key, 3)
        decisions += jnp.count_nonzero(~over(state))
        actions = act_randomly(choosing, state.legal_action_mask)
        return (step(state, actions, jax.random.split(chance, batch)), key, decisions), None

    def steps_and_reset(carry: Any, _: None) -> tuple[Any, None]:
        (state, key, decisions), _ = jax.lax.scan(one_step, carry, None, length=steps)
        key, chance = jax.random.split(key)
        ended = over(state)
        state = jax.tree.map(
            lambda new, old: jnp.where(ended.reshape(batch, *[1] * (old.ndim - 1)), new, old),
            init(jax.random.split(chance, batch)),
            state,
        )
        return (state, key, decisions), None

    def many_steps(state: Any, key: Any) -> Any:
        repeats = max(1, PGX_DECISIONS // (batch * steps))
        return jax.lax.scan(steps_and_reset, (state, key, 0), None, length=repeats)[0]

    run = jax.jit(many_steps, donate_argnums=0)  # the state is updated in place
    state, key = jax.jit(init)(jax.random.split(jax.random.PRNGKey(0), batch)), jax.random.PRNGKey(1)

    def play() -> int:
        nonlocal state, key
        state, key, decisions = run(state, key)
        return int(decisions)  # waits for the result

    return play
