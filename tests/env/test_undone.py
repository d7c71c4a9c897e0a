"""A step in which the user's code fails changes nothing, and impossible states are not restored."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from megaland_env import Building, Kind, MegalandConfig, MegalandGames, SnapshotError, megaland_v0
from megaland_env.agent import RandomAgent, make_agent
from megaland_env.cards import STAR_COPIES
from megaland_env.engine.bounds import most_coins
from megaland_env.envs.gymnasium_env import MegalandEnv
from megaland_env.envs.multi_agent_vector import MegalandMultiAgentVectorEnv
from megaland_env.envs.sb3_vec_env import MegalandVecEnv
from megaland_env.rewards import Outcome, Win
from megaland_env.seats.single_learner import SingleLearnerGames
from tests.support.play import everything, moments, some_legal


class Sometimes:
    """A reward that works until it is told to fail."""

    def __init__(self, wrong: Callable[[Outcome], Any], *, at_end_only: bool = False) -> None:
        self.wrong, self.at_end_only = wrong, at_end_only
        self.goes_wrong = False

    def __call__(self, outcome: Outcome) -> Any:
        return self.wrong(outcome) if self.goes_wrong else outcome.margin - outcome.margin_before


def fails(outcome: Outcome) -> Any:
    raise ZeroDivisionError("a mistake in the reward")


def nan_for_one(outcome: Outcome) -> Any:
    rewards = np.zeros(outcome.winners.shape)
    rewards[-1, -1] = np.nan
    return rewards


WRONG = {
    "shape": (lambda outcome: np.zeros(outcome.winners.shape[0]), ValueError, r"returned float64 of shape \(\d+,\)"),
    "transposed": (lambda outcome: np.zeros(outcome.winners.T.shape), ValueError, "must be numbers of shape"),
    "scalar": (lambda outcome: 0.0, ValueError, r"of shape \(\)"),
    "none": (lambda outcome: None, ValueError, "returned object"),
    "words": (lambda outcome: np.full(outcome.winners.shape, "1"), ValueError, "returned <U1"),
    "complex": (lambda outcome: outcome.winners * 1j, ValueError, "returned complex128"),
    "nan": (nan_for_one, ValueError, "returned nan in row"),
    "infinite": (lambda outcome: outcome.winners + np.inf, ValueError, "returned inf in row 0 for seat 0"),
    "too large": (lambda outcome: outcome.winners + 1e300, ValueError, "must be finite"),
    "error": (fails, ZeroDivisionError, "a mistake in the reward"),
}


@pytest.mark.parametrize(("wrong", "error", "message"), WRONG.values(), ids=list(WRONG))
@pytest.mark.parametrize("index", [None, [1], [4, 0]], ids=str)
def test_a_reward_that_goes_wrong_changes_nothing(
    wrong: Callable[[Outcome], Any], error: type[Exception], message: str, index: list[int] | None
) -> None:
    reward = Sometimes(wrong)
    games = MegalandGames(MegalandConfig(3), 5, reward=reward, record=True)
    generator = np.random.default_rng(3)
    games.reset(3)
    for _ in range(12):
        games.step(some_legal(games, generator))
    actions = some_legal(games, generator)
    moving = actions if index is None else actions[index]
    decisions = games.decisions()
    before = everything(games), games.rewards.copy(), games.margins_seen.copy(), games.events(0)
    reward.goes_wrong = True
    with pytest.raises(error, match=message):
        games.step(moving, index)
    assert everything(games) == before[0]
    assert np.array_equal(games.rewards, before[1])
    assert np.array_equal(games.margins_seen, before[2])
    assert games.events(0) == before[3]
    assert len(decisions.view.coins) == len(decisions)  # they still hold

    reward.goes_wrong = False
    other = MegalandGames.restore(
        [games.snapshot(game) for game in range(5)], reward=reward, margins_seen=games.margins_seen
    )
    games.step(moving, index)
    other.step(moving, index)
    assert [games.snapshot(i) for i in range(5)] == [other.snapshot(i) for i in range(5)]


@pytest.mark.parametrize("wrong", [fails, nan_for_one])
def test_a_reward_that_goes_wrong_at_the_end_changes_nothing(wrong: Callable[[Outcome], Any]) -> None:
    """A reward that is called only for finished games fails in the step that finishes one."""
    reward = Sometimes(wrong, at_end_only=True)
    reward.goes_wrong = True
    games = MegalandGames(MegalandConfig(2, max_rounds=2), 3, reward=reward)
    games.reset(8)
    generator = np.random.default_rng(8)
    while True:
        actions = some_legal(games, generator)
        before = everything(games)
        try:
            games.step(actions)
        except (ZeroDivisionError, ValueError):
            break
    assert everything(games) == before
    reward.goes_wrong = False
    games.step(actions)
    assert (games.kind == Kind.NONE).any()


class Tiring(RandomAgent):
    """An opponent that fails in one of its turns, or answers what is not legal."""

    def __init__(self, good_turns: int, how: str) -> None:
        super().__init__()
        self.left, self.how = good_turns, how

    def act(self, decisions: Any) -> Any:
        self.left -= 1
        if self.left == -1:
            if self.how == "interrupt":
                raise KeyboardInterrupt
            return np.full(len(decisions), 39)
        return super().act(decisions)


@pytest.mark.parametrize("how", ["interrupt", "illegal"])
@pytest.mark.parametrize("good_turns", range(0, 40, 7))
def test_an_opponent_that_fails_changes_nothing(how: str, good_turns: int) -> None:
    """Even if the learner's choice was carried out before, the same step can be made again."""
    agents = Tiring(good_turns, how), Tiring(-2, how)
    games, other = (SingleLearnerGames(MegalandConfig(3), 4, opponents=agent) for agent in agents)
    generator = np.random.default_rng(6)
    for each in (games, other):
        each.reset([1, 2, 3, 4])
    failed = False
    while not failed:
        actions = (generator.random((4, 40)) * games.decisions().legal).argmax(axis=1)
        before = everything(games.games), games.rewards.copy(), games.played.copy()
        try:
            games.step(actions)
        except (KeyboardInterrupt, ValueError):
            failed = True
            assert everything(games.games) == before[0]
            assert np.array_equal(games.rewards, before[1])
            assert np.array_equal(games.played, before[2])
            games.step(actions)
        other.step(actions)
        assert everything(games.games) == everything(other.games)
        for each in (games, other):
            each.restart(np.flatnonzero(each.over))


def test_a_block_that_refuses_holds_up_the_others() -> None:
    """An illegal action at one table size: the games of the other have not moved either."""
    env = MegalandVecEnv([MegalandConfig(2), MegalandConfig(3)], 4, opponents="random", seed=2)
    env.reset()
    before = json.dumps(env.snapshot())
    masks = env.action_masks().copy()
    actions = masks.argmax(axis=1)
    with pytest.raises(ValueError, match="is not legal"):
        env.step(np.where(np.arange(4) == 3, 39, actions))
    assert json.dumps(env.snapshot()) == before
    assert np.array_equal(env.action_masks(), masks)
    env.step(actions)


@pytest.mark.parametrize("make", [megaland_v0.raw_env, megaland_v0.parallel_env])
def test_pettingzoo_goes_on_after_a_reward_went_wrong(make: Any) -> None:
    reward = Sometimes(fails)
    env = make(config=MegalandConfig(2), reward=reward)
    env.reset(seed=1)
    before = everything(env.games)
    reward.goes_wrong = True
    turns = 2 if make is megaland_v0.raw_env else 1
    for turn in range(turns):
        action = 1 if turns == 2 else dict.fromkeys(env.agents, 1)
        if turn == turns - 1:
            with pytest.raises(ZeroDivisionError):
                env.step(action)
            reward.goes_wrong = False
            assert everything(env.games) == before
        env.step(action)
    assert everything(env.games) != before


@pytest.mark.parametrize(
    "make",
    [
        lambda reward: MegalandEnv(MegalandConfig(3), opponents="random", reward=reward, seat=0),
        lambda reward: MegalandMultiAgentVectorEnv(2, MegalandConfig(3), reward=reward),
    ],
    ids=["single", "multi_agent"],
)
def test_environments_go_on_after_a_reward_went_wrong(make: Any) -> None:
    reward = Sometimes(fails)
    env = make(reward)
    env.reset(seed=1)
    action = np.ones((2, 3), int) if isinstance(env, MegalandMultiAgentVectorEnv) else 1
    mask = env.action_masks().copy()
    reward.goes_wrong = True
    with pytest.raises(ZeroDivisionError):
        env.step(action)
    assert np.array_equal(env.action_masks(), mask)
    reward.goes_wrong = False
    env.step(action)


def test_own_rewards_need_no_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Built-in rewards cannot fail, so the engine makes no copy for them."""
    games = MegalandGames(num_games=2, reward=Win())
    games.reset(0)
    monkeypatch.setattr(type(games._state), "save", fails)
    games.step(np.ones((2, 4), int))


# ------------------------------------------------------------------------------------------------ margins and coins


@pytest.mark.parametrize(
    ("margins", "message"),
    [
        ([[np.nan, 1e9, -1.7, 2**40]], r"must be integers of shape \(1, 4\), not float64"),
        ([[0.0, 0.0, 0.0, 0.0]], "not float64"),
        ([[0, 0, 0]], r"of shape \(1, 3\)"),
        ([[True] * 4], "not bool"),
        (0, r"of shape \(\)"),
        ([[2**70, 0, 0, 0]], "not object"),
        ([[4, 0, 0, 0]], "margins_seen is 4 for seat 0 of game 0; .* from -5 to 3"),
        ([[-6, 0, 0, 0]], "margins_seen is -6 for seat 0 of game 0"),
        ([[0, -4, 0, 0]], "margins_seen is -4 for seat 1 of game 0; .* from -3 to 5"),
        ([[0, 0, 2**40, 0]], f"margins_seen is {2**40} for seat 2"),
    ],
    ids=str,
)
def test_margins_that_nobody_can_have_seen(margins: Any, message: str) -> None:
    """Coins are never lost: so it was at most the own coins now, and at least minus the most of another."""
    games = MegalandGames()
    games.reset(0)
    told = games.snapshot(0)
    for player, coins in zip(told["players"], (3, 5, 0, 0), strict=True):
        player["coins"] = coins
    with pytest.raises(ValueError, match=message):
        MegalandGames.restore([told], reward="shaped", margins_seen=margins)
    restored = MegalandGames.restore([told], reward="shaped", margins_seen=[[-5, 5, -5, 0]])
    assert restored.margins_seen.tolist() == [[-5, 5, -5, 0]]


def test_margins_of_real_games_can_be_restored() -> None:
    for step, games in enumerate(moments(MegalandConfig(3), 4, 37, reward="shaped")):
        if step % 10 == 0:
            told = [games.snapshot(game) for game in range(4)]
            restored = MegalandGames.restore(told, reward="shaped", margins_seen=games.margins_seen)
            assert np.array_equal(restored.margins_seen, games.margins_seen)


@pytest.mark.parametrize("coins", [16_000, 2**14, 2**15, 2**63, -1])
def test_coins_that_no_game_can_come_to(coins: int) -> None:
    games = MegalandGames()
    games.reset(0)
    told = games.snapshot(0)
    assert told["round"] == 1
    told["players"][2]["coins"] = coins
    with pytest.raises(SnapshotError, match=rf"player 2: coins is {coins}; it must be an integer from 0 to \d\d\d?$"):
        MegalandGames.restore([told])


def test_the_bound_of_a_market_added_up_by_hand() -> None:
    """N5; C6, L4, L7, L9, B6, B7, N3: each way to gain coins, with every copy of what is on offer."""
    market = ("Hospital", "Bowling Alley", "Smithy", "Hall of Elders", "Toll Booth", "Lodge", "Endless Mine")
    copies = np.zeros(23, int)
    copies[:6] = STAR_COPIES
    copies[[9, 11, 13, 16, 17, 19, 22]] = 4
    level = 4 * 2 + 5 * 1 + 4 * 2 * 2  # Temples, Bazaars, Hospitals of two neighbours
    bought = (1 + 2 + 3 + 4 + 5 + 7) + 4 * 4 * 3 + 7 * 4 + 6 * 4  # coins of the six stars; four types of cost 4 or 5
    rest = 4 * 4 * 2 + 5 * 2 + 4 * (1 + 2 + 3)  # hearts with Hotels; Arcades; the moon
    assert most_coins(copies.tolist(), 4) == 19 + level + bought + rest
    assert most_coins(copies.tolist(), 2) == 19 + level - 8 + bought + rest
    games = MegalandGames(MegalandConfig(4, market))
    games.reset(0)
    told = games.snapshot(0)
    for coins, allowed in ((19 + level + bought + rest, True), (20 + level + bought + rest, False)):
        told["players"][0]["coins"] = coins
        if allowed:
            assert MegalandGames.restore([told]).coins[0, 0] == coins
        else:
            with pytest.raises(SnapshotError, match="coins"):
                MegalandGames.restore([told])


@pytest.mark.parametrize("agent", ["random", "planner", "builder"])
@pytest.mark.parametrize("players", [2, 5])
def test_no_play_comes_near_the_bound(agent: str, players: int) -> None:
    """Random play, and play for the most coins, with many copies of the star buildings."""
    config = MegalandConfig(players, "random", star_copies=(20, 20, 20, 20, 20, 20))
    games = MegalandGames(config, 60)
    games.reset(9)
    playing = make_agent(agent)
    most, seen = games.coins.max(), []
    bounds = []
    for told in map(games.snapshot, range(60)):
        on_offer = told["supply"]["buildings"]
        bounds.append(most_coins([on_offer.get(building.label, 0) for building in Building], players))
    while games.active.any():
        decisions = games.decisions()
        games.step(games.scatter(decisions, playing.act(decisions)))
        assert (games.coins <= np.array(bounds)[:, None]).all()
        seen.append(int(games.coins.max()))
    assert max(seen) >= 20 > most


@pytest.mark.parametrize("change", [(50, 0), (-1, 0), (0, 50)])
def test_numbers_of_decisions_that_no_steps_can_have_asked(change: tuple[int, int]) -> None:
    """Each step asks at least one seat, and each seat at most once."""
    games = MegalandGames(MegalandConfig(2))
    games.reset(0)
    for _ in range(3):
        games.step(np.ones((1, 2), int))
    told = games.snapshot(0)
    assert (told["steps"], told["decisions"]) == (3, [3, 3])
    told["steps"] += change[0]
    told["decisions"][1] += change[1]
    with pytest.raises(SnapshotError, match=r"decisions are \[3, \d+\] in \d+ steps"):
        MegalandGames.restore([told])


def test_hearts_are_whole_when_a_game_is_over() -> None:
    """N4 comes before N5."""
    *_, games = moments(MegalandConfig(2, max_rounds=2), 1, 3)
    told = games.snapshot(0)
    MegalandGames.restore([told])
    told["players"][1]["hearts"] -= 1
    with pytest.raises(SnapshotError, match="player 1 lacks hearts when the game is over"):
        MegalandGames.restore([told])


# ------------------------------------------------------------------------------------- snapshots of environments


def changed(snapshot: dict[str, Any], block: int, key: str, value: Any) -> dict[str, Any]:
    other = copy.deepcopy(snapshot)
    if callable(value):
        value = value(other["blocks"][block][key])
    other["blocks"][block][key] = value
    return other


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("slot_seeds", [1.5, 2], "slot_seeds must be integers"),
        ("slot_seeds", 7, r"slot_seeds must be integers of shape \(2,\)"),
        ("slot_seeds", [-1, 2], "slot_seeds must be from 0"),
        ("episodes", [-1, 0], "episodes must be from 0"),
        ("episodes", [0], "episodes must be integers of shape"),
        ("seats", [0, 9], "seats must be from 0 to 2, not from 0 to 9"),
        ("seats", 0, "seats must be integers"),
        ("seats", lambda seats: [(seat + 1) % 3 for seat in seats], "the learner's seat, and no other"),
        ("players", lambda players: [[99] * 2 for _ in players], "players must be from -1 to 0"),
        ("players", lambda players: [[-1] * 2 for _ in players], "the learner's seat, and no other"),
        ("players", lambda players: players[:2], "players must be integers of shape"),
        ("illegal_actions", -1, "illegal_actions is -1"),
        ("illegal_actions", "3", "illegal_actions is '3'"),
        ("games", lambda games: games[:1], "another number of games"),
    ],
)
def test_a_snapshot_of_an_environment_that_is_none_changes_nothing(key: str, value: Any, message: str) -> None:
    """An invalid snapshot changes nothing, not even in the blocks before the invalid one."""
    env = MegalandVecEnv([MegalandConfig(2), MegalandConfig(3)], 4, opponents="random", seed=2)
    env.reset()
    good = json.loads(json.dumps(env.snapshot()))
    env.step(env.action_masks().argmax(axis=1))
    before = env.snapshot()
    with pytest.raises(ValueError, match=message):
        env.restore(changed(good, 1, key, value), env.agents)
    assert env.snapshot() == before
    env.restore(good, env.agents)
    assert env.snapshot() == good


def test_seeds_of_any_size_are_restored_exactly() -> None:
    """NumPy makes floats of a list of small and large integers, which would round the seeds."""
    games = SingleLearnerGames(MegalandConfig(2), 3, opponents="random")
    games.reset([2**64 - 1, 5, 2**63 + 1])
    snapshot = json.loads(json.dumps(games.snapshot()))
    other = SingleLearnerGames(MegalandConfig(2), 3, opponents="random")
    other.restore(snapshot, games.agents)
    assert other.snapshot() == snapshot


def test_a_snapshot_with_other_agents_than_are_given() -> None:
    env = MegalandVecEnv(MegalandConfig(2), 2, opponents="random", seed=2)
    env.reset()
    snapshot = env.snapshot()
    for wrong in (-1, 1, True, "random"):
        snapshot["agents"] = [[wrong]]
        with pytest.raises(ValueError, match=f"names agent {wrong!r}, but 1 agents were given"):
            env.restore(snapshot, env.agents)
