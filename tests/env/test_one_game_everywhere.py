"""One seed and one policy give the same game in every API: the engine, its slow twin, and each environment.

The policy depends on the seat, the names of the legal actions and a part of the seat's observation, which each
environment must therefore show in time. A story is everything that was asked and chosen. It is made from what the
environment returns, never from the engine inside it. A new API is one more entry of ``APIS``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from megaland_env import Action, Decisions, MegalandConfig, MegalandGames, action_name
from megaland_env.observation.features import CARDS_BOUND, COINS_BOUND, FEATURES, ROUND_BOUND
from tests.support.play import TABLES, table_id
from tests.support.reference_game import ReferenceGame

SEEDS = [22, 23, 2**64 - 1]


# ------------------------------------------------------------------------------------------- the policy and the story


class Seen(NamedTuple):
    """What the policy goes by, cut off where observations are."""

    round: int
    coins: int
    hearts: int
    carried: int
    home: int


def choose(seat: int, seen: Seen, legal: Sequence[str]) -> str:
    """A pseudo-random legal action; STAY more often than LEAVE, because otherwise little would happen."""
    digest = hashlib.sha256(f"{seat} {tuple(seen)} {','.join(legal)}".encode()).digest()
    options = ["STAY", "STAY", "LEAVE"] if "STAY" in legal else list(legal)
    return options[int.from_bytes(digest[:4], "big") % len(options)]


@dataclass
class Story:
    """One game.

    Attributes:
        choices: for each seat, in their order, what was legal and what it chose.
        coins: of each seat at the end.
    """

    choices: list[list[tuple[list[str], str]]]
    coins: list[int]

    @classmethod
    def blank(cls, players: int) -> Story:
        return cls([[] for _ in range(players)], [])

    def choose(self, seat: int, seen: Seen, legal: Sequence[str]) -> str:
        """Choose by the policy and record the choice."""
        chosen = choose(seat, seen, legal)
        self.choices[seat].append((list(legal), chosen))
        return chosen

    def answer(self, seat: int, observation: Any, mask: Any) -> int:
        """The same from what an environment gives its learners."""
        legal = [action_name(action) for action in np.flatnonzero(mask).tolist()]
        return Action[self.choose(seat, seen_in(observation), legal)].value

    def hash(self) -> str:
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()


_ACTIVE, _ROUND, _COINS, _HEARTS, _CARRIED, _HOME = (
    FEATURES.index(name)
    for name in ("self.active", "table.round", "self.coins", "self.hearts", "self.cards.carried", "self.cards.home")
)


def seen_in(observation: Any) -> Seen:
    """Read from an observation (D,)."""
    scales = {_ROUND: ROUND_BOUND, _COINS: COINS_BOUND, _HEARTS: 8, _CARRIED: CARDS_BOUND, _HOME: CARDS_BOUND}
    return Seen(*(round(float(observation[index]) * scale) for index, scale in scales.items()))


class Player:
    """The policy as an agent, for APIs in which agents have the other seats; it fills ``stories[game]``."""

    def __init__(self, stories: Sequence[Story]) -> None:
        self.stories = stories

    def act(self, decisions: Decisions) -> Any:
        view = decisions.view
        actions = []
        for row, (game, seat) in enumerate(zip(decisions.game.tolist(), decisions.seat.tolist(), strict=True)):
            seen = Seen(
                min(int(view.round[row]), ROUND_BOUND),
                min(int(view.coins[row, 0]), COINS_BOUND),
                int(view.hearts[row, 0]),
                min(int(view.carried[row, 0].sum()), CARDS_BOUND),
                min(int(view.home[row, 0].sum()), CARDS_BOUND),
            )
            legal = [action_name(action) for action in np.flatnonzero(decisions.legal[row]).tolist()]
            actions.append(Action[self.stories[game].choose(seat, seen, legal)].value)
        return np.array(actions)


# --------------------------------------------------------------------------------------------------------- the APIs


def with_the_engine(config: MegalandConfig, seeds: Sequence[int]) -> list[Story]:
    stories = [Story.blank(config.num_players) for _ in seeds]
    player = Player(stories)
    games = MegalandGames(config, len(seeds))
    games.reset(np.array(seeds, np.uint64))
    while games.active.any():
        decisions = games.decisions()
        games.step(games.scatter(decisions, player.act(decisions)))
    for story, coins in zip(stories, games.coins.tolist(), strict=True):
        story.coins = coins
    return stories


def with_the_twin(config: MegalandConfig, seeds: Sequence[int]) -> list[Story]:
    stories = [Story.blank(config.num_players) for _ in seeds]
    for story, seed in zip(stories, seeds, strict=True):
        twin = ReferenceGame(config.to_dict(), seed)
        while twin.active:
            choices = {}
            for seat in twin.active:
                player = twin.players[seat]
                seen = Seen(
                    min(twin.round, ROUND_BOUND),
                    min(player.coins, COINS_BOUND),
                    player.hearts,
                    min(sum(player.carried.values()), CARDS_BOUND),
                    min(sum(player.home.values()), CARDS_BOUND),
                )
                choices[seat] = story.choose(seat, seen, twin.legal(seat))
            twin.step(choices)
        story.coins = [player.coins for player in twin.players]
    return stories


def with_the_multi_agent_vector_env(mode: str) -> Api:
    def play(config: MegalandConfig, seeds: Sequence[int]) -> list[Story]:
        pytest.importorskip("gymnasium")
        from megaland_env.envs.multi_agent_vector import MegalandMultiAgentVectorEnv

        stories = [Story.blank(config.num_players) for _ in seeds]
        env = MegalandMultiAgentVectorEnv(len(seeds), config, autoreset_mode=mode)
        observations, infos = env.reset(seed=seeds)
        while not all(story.coins for story in stories):
            actions = np.zeros((len(seeds), config.num_players), np.int64)
            for game, seat in np.argwhere(infos["active"]).tolist():
                story = stories[game] if not stories[game].coins else Story.blank(config.num_players)  # a later game
                actions[game, seat] = story.answer(seat, observations[game, seat], infos["action_mask"][game, seat])
            observations, _, terminations, truncations, infos = env.step(actions)
            ends = infos.get("final_info", infos)
            for game in np.flatnonzero(terminations | truncations).tolist():
                stories[game].coins = stories[game].coins or ends["coins"][game].tolist()
        return stories

    return play


def with_the_aec_env(config: MegalandConfig, seeds: Sequence[int]) -> list[Story]:
    pytest.importorskip("pettingzoo")
    from megaland_env import megaland_v0

    stories = [Story.blank(config.num_players) for _ in seeds]
    env = megaland_v0.env(config=config)
    for story, seed in zip(stories, seeds, strict=True):
        env.reset(seed=seed)
        for agent in env.agent_iter():
            observation, _, termination, truncation, info = env.last()
            if termination or truncation:
                story.coins.append(info["coins"])  # the agents go in the order of their seats
                env.step(None)
            else:
                seat = int(agent.removeprefix("player_"))
                env.step(story.answer(seat, observation["observation"], observation["action_mask"]))
    return stories


def with_the_parallel_env(config: MegalandConfig, seeds: Sequence[int]) -> list[Story]:
    pytest.importorskip("pettingzoo")
    from megaland_env import megaland_v0

    stories = [Story.blank(config.num_players) for _ in seeds]
    env = megaland_v0.parallel_env(config)
    for story, seed in zip(stories, seeds, strict=True):
        observations, infos = env.reset(seed=seed)
        while env.agents:
            actions = {}
            for seat, agent in enumerate(env.agents):
                observation, mask = observations[agent]["observation"], infos[agent]["action_mask"]
                actions[agent] = story.answer(seat, observation, mask) if observation[_ACTIVE] else Action["PASS"]
            observations, _, _, _, infos = env.step(actions)
        story.coins = [infos[agent]["coins"] for agent in env.possible_agents]
    return stories


def coins_in(observation: Any, seat: int, players: int) -> list[int]:
    """The coins of all seats at the end, from the observation of the learner at ``seat``."""
    names = ["self.coins", *(f"left{place}.coins" for place in range(1, players))]
    seen = [round(float(observation[FEATURES.index(name)]) * COINS_BOUND) for name in names]
    return seen[-seat:] + seen[:-seat]


def with_the_gymnasium_env(config: MegalandConfig, seeds: Sequence[int]) -> list[Story]:
    gym = pytest.importorskip("gymnasium")
    stories, seat = [Story.blank(config.num_players) for _ in seeds], 1
    for story, seed in zip(stories, seeds, strict=True):
        env = gym.make("Megaland-v0", config=config, opponents=Player([story]), seat=seat)
        observation, info = env.reset(seed=seed)
        over = False
        while not over:
            action = story.answer(seat, observation, info["action_mask"])
            observation, _, terminated, truncated, info = env.step(action)
            over = terminated or truncated
        story.coins = coins_in(observation, seat, config.num_players)
    return stories


def with_the_gymnasium_vector_env(mode: str) -> Api:
    def play(config: MegalandConfig, seeds: Sequence[int]) -> list[Story]:
        gym = pytest.importorskip("gymnasium")
        stories, seat = [Story.blank(config.num_players) for _ in seeds], 1
        player = Player(list(stories))
        env = gym.make_vec(
            "Megaland-v0", num_envs=len(seeds), config=config, opponents=player, seat=seat, autoreset_mode=mode
        )
        observations, infos = env.reset(seed=list(seeds))
        while not all(story.coins for story in stories):
            actions = [
                story.answer(seat, observation, mask)
                for story, observation, mask in zip(player.stories, observations, infos["action_mask"], strict=True)
            ]
            observations, _, terminations, truncations, infos = env.step(np.array(actions))
            last = infos.get("final_obs", observations)
            for game in np.flatnonzero(terminations | truncations).tolist():
                stories[game].coins = stories[game].coins or coins_in(last[game], seat, config.num_players)
                player.stories[game] = Story.blank(config.num_players)  # a later game
        return stories

    return play


def with_the_vec_env(config: MegalandConfig, seeds: Sequence[int]) -> list[Story]:
    adapter = pytest.importorskip("megaland_env.envs.sb3_vec_env", exc_type=ImportError)
    stories, seat = [Story.blank(config.num_players) for _ in seeds], 1
    for story, seed in zip(stories, seeds, strict=True):
        env = adapter.MegalandVecEnv(config, 1, opponents=Player([story]), seat=seat, seed=seed)
        observations, dones = env.reset(), [False]
        while not dones[0]:
            action = story.answer(seat, observations[0], env.action_masks()[0])
            observations, _, dones, infos = env.step(np.array([action]))
        story.coins = coins_in(infos[0]["terminal_observation"], seat, config.num_players)
    return stories


Api = Callable[[MegalandConfig, Sequence[int]], list[Story]]

APIS: dict[str, Api] = {
    "twin": with_the_twin,
    "multi-agent vector, next step": with_the_multi_agent_vector_env("NextStep"),
    "multi-agent vector, same step": with_the_multi_agent_vector_env("SameStep"),
    "AEC": with_the_aec_env,
    "Parallel": with_the_parallel_env,
    "Gymnasium": with_the_gymnasium_env,
    "Gymnasium vector, next step": with_the_gymnasium_vector_env("NextStep"),
    "Gymnasium vector, same step": with_the_gymnasium_vector_env("SameStep"),
    "Stable-Baselines3 VecEnv": with_the_vec_env,
}
"""Each plays one game of every seed; ``Story`` and ``Player`` help to tell it."""

GOLDEN = "6eb9a29eb4b0d70ac8ac3c22f5cb5ef56c34586e2640343047bfa6e8ca2ecf20"


# -------------------------------------------------------------------------------------------------------- the tests


@pytest.fixture(scope="module")
def told_by_the_engine() -> dict[MegalandConfig, list[Story]]:
    return {config: with_the_engine(config, SEEDS) for config in map(shortened, TABLES)}


def shortened(config: MegalandConfig) -> MegalandConfig:
    return replace(config, max_rounds=min(config.max_rounds, 20))


@pytest.mark.parametrize("config", TABLES, ids=table_id)
@pytest.mark.parametrize("api", APIS)
def test_the_same_game_in_every_api(
    api: str, config: MegalandConfig, told_by_the_engine: dict[MegalandConfig, list[Story]]
) -> None:
    config = shortened(config)
    told = APIS[api](config, SEEDS)
    for seed, story, wanted in zip(SEEDS, told, told_by_the_engine[config], strict=True):
        for seat, (ours, theirs) in enumerate(zip(story.choices, wanted.choices, strict=True)):
            for number, (mine, due) in enumerate(zip(ours, theirs, strict=False)):
                assert mine == due, f"seed {seed}, seat {seat}, decision {number}"
        assert story.hash() == wanted.hash(), f"seed {seed}"


def test_the_stories_are_long_and_different(told_by_the_engine: dict[MegalandConfig, list[Story]]) -> None:
    stories = [story for each in told_by_the_engine.values() for story in each]
    assert len({story.hash() for story in stories}) == len(stories)
    chosen = {name for story in stories for seat in story.choices for _, name in seat}
    assert {"PASS", "STAY", "LEAVE", "JUMP", "TRADE"} < chosen
    assert all(any(name.startswith(start) for name in chosen) for start in ("BUY_", "HEART_", "TREASURE_"))
    assert min(len(seat) for story in stories for seat in story.choices) > 15
    assert any(max(story.coins) >= 20 for story in stories)  # over by the rules, not cut off


def test_the_story_of_seed_0_stays_the_same() -> None:
    """The game with a seed never changes, whatever is refactored."""
    (story,) = with_the_engine(MegalandConfig(), [0])
    assert story.hash() == GOLDEN
