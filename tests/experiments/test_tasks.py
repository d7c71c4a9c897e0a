"""The two small tasks: their beginnings, ends and optima, which are computed here again from the rules."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest

from megaland_env import Action, Decisions, Kind, MegalandGames
from megaland_env.agent import random_legal
from megaland_env.envs.gymnasium_env import OneLearnerEnv
from megaland_env.envs.gymnasium_vector import MegalandRunVectorEnv
from megaland_env.seats.scenarios import LEARNER_SEAT, BuyTask, RunTask, TaskGames
from tests.support.play import check_conservation, chi_square
from tests.support.tables import COSTS, LEVEL_CARDS, NORMALS, TREASURES

Policy = Callable[[Decisions], npt.NDArray[Any]]


def begun(task: RunTask | BuyTask, number: int, first_seed: int = 0) -> TaskGames:
    games = TaskGames(task, number)
    games.reset(first_seed + np.arange(number))
    return games


def play(games: TaskGames, policy: Policy) -> npt.NDArray[np.float64]:
    """(N,) gains of the policy."""
    gained = np.zeros(games.num_games)
    while (playing := np.flatnonzero(~games.over)).size:
        games.step(policy(games.decisions(playing)), playing)
        gained[playing] += games.rewards[playing]
    return gained


# ------------------------------------------------------------------------------------------------ both


@pytest.mark.parametrize("task", [RunTask(), RunTask(2, 3), RunTask(8, 14), BuyTask()], ids=str)
def test_a_task_begins_in_a_state_of_the_game(task: RunTask | BuyTask) -> None:
    """The first snapshot of a task passes all checks, and a game restored from it continues as the task does."""
    games = begun(task, 40)
    check_conservation(games.games)
    while True:
        asked = np.flatnonzero(games.games.active[:, LEARNER_SEAT])
        if not asked.size:
            return
        words = [games.games.snapshot(game) for game in asked]
        restored = MegalandGames.restore(words)
        assert [restored.snapshot(game) for game in range(asked.size)] == words
        actions = random_legal(games.decisions())
        games.step(actions)
        moves = np.zeros((asked.size, 2), np.int64)
        moves[:, LEARNER_SEAT] = actions[asked]
        restored.step(moves)
        assert [restored.snapshot(game) for game in range(asked.size)] == [games.games.snapshot(game) for game in asked]


@pytest.mark.parametrize("task", [RunTask(), RunTask(2), BuyTask()], ids=str)
def test_a_task_goes_by_its_seed_alone(task: RunTask | BuyTask) -> None:
    together = begun(task, 30)
    words = [together.games.snapshot(game) for game in range(30)]
    gained = play(together, lambda decisions: random_legal(decisions, 3))
    for seed in (0, 7, 29):
        alone = begun(task, 1, seed)
        assert alone.games.snapshot(0) == words[seed]
        assert play(alone, lambda decisions: random_legal(decisions, 3)) == gained[seed]
    assert len({json.dumps(each["players"]) for each in words}) > 10


@pytest.mark.parametrize("task", [RunTask(4, 2), BuyTask()], ids=str)
def test_the_other_never_decides(task: RunTask | BuyTask) -> None:
    games = begun(task, 50)
    others = [games.games.snapshot(game)["players"][1] for game in range(50)]
    assert {sum(other["home"].values()) for other in others} == {1}
    play(games, random_legal)
    for game, other in enumerate(others):
        snapshot = games.games.snapshot(game)
        assert snapshot["players"][1] == other
        assert (snapshot["decision"], snapshot["active"], snapshot["decisions"][1]) == ("buy", [1], 0)
    assert not games.games.terminated.any()
    assert not games.games.truncated.any()


def test_slots_go_on_with_other_tasks() -> None:
    games = begun(BuyTask(), 3)
    first = [games.games.snapshot(game)["players"] for game in range(3)]
    play(games, random_legal)
    assert games.over.all()
    games.restart([1])
    assert games.over.tolist() == [True, False, True]
    assert games.games.snapshot(1)["players"] not in first
    assert play(games, random_legal)[1] == games.coins[1]  # nothing is left over from the task before


def test_arguments_are_checked() -> None:
    for arguments in ({"hearts": 0}, {"hearts": 9}, {"hearts": 4.0}, {"hearts": True}, {"jumps": -1}, {"jumps": 15}):
        with pytest.raises(ValueError, match=next(iter(arguments))):
            RunTask(**arguments)  # type: ignore[arg-type]
    for value in ("much", (1, 2, 3), np.nan, [1, 2, 3, 4, 5, "six"]):
        with pytest.raises(ValueError, match="value is"):
            RunTask(value=value)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="illegal is"):
        TaskGames(RunTask(), illegal="ignore")


def test_a_task_cannot_be_taken_up_from_a_snapshot() -> None:
    games = begun(RunTask(), 1)
    with pytest.raises(NotImplementedError):
        games.restore(games.snapshot(), [])


# ------------------------------------------------------------------------------------------------ one level run


# C3 once more: (skulls, jump symbol) of the cards in the order of LEVEL_CARDS.
CARDS = [(0, 0), (0, 0), (0, 0), (0, 0), (1, 0), (1, 1), (1, 1), (2, 0), (2, 1), (3, 1)]
BOX = LEVEL_CARDS.index("Treasure Box")


class BestRun:
    """The best play of a run if all treasures are worth 1, by dynamic programming in exact numbers."""

    def __init__(self) -> None:
        self.stays = cache(self._stays)
        self.jumps = cache(self._jumps)
        self._revealed = cache(self._after_reveal)

    def value(self, hearts: int, jumps: int) -> Fraction:
        """The value after entering, before the first card."""
        return self._before_card(frozenset(range(10)), hearts, 1, jumps)

    def _before_card(self, cards: frozenset[int], hearts: int, carried: int, jumps: int) -> Fraction:
        jumping = jumps > 0 and self.jumps(cards, hearts, carried, jumps)
        return self._revealed(cards, hearts, carried, jumps - jumping, jumping)

    def _jumps(self, cards: frozenset[int], hearts: int, carried: int, jumps: int) -> bool:
        jump = self._revealed(cards, hearts, carried, jumps - 1, True)
        return jump > self._revealed(cards, hearts, carried, jumps, False)

    def _after_reveal(self, cards: frozenset[int], hearts: int, carried: int, jumps: int, jumping: bool) -> Fraction:
        total = Fraction(0)
        for card in cards:
            skulls, symbol = CARDS[card]
            left = hearts - skulls * (not (jumping and symbol))
            if left > 0:
                held, rest = carried + (card == BOX), cards - {card}
                stays = bool(rest) and self.stays(rest, left, held, jumps)
                total += self._before_card(rest, left, held + 1, jumps) if stays else held
        return total / len(cards)

    def _stays(self, cards: frozenset[int], hearts: int, carried: int, jumps: int) -> bool:
        return self._before_card(cards, hearts, carried + 1, jumps) > carried

    def act(self, decisions: Decisions) -> npt.NDArray[np.int64]:
        """The best play as a policy."""
        view = decisions.view
        actions = []
        for row, kind in enumerate(decisions.kind.tolist()):
            cards = frozenset(np.flatnonzero(view.unseen[row]).tolist())
            state = (cards, int(view.hearts[row, 0]), int(view.carried[row, 0].sum()), int(view.jumps[row, 0]))
            if kind == Kind.RUN:
                actions.append(Action["STAY" if self.stays(*state) else "LEAVE"])
            elif kind == Kind.JUMP:
                actions.append(Action["JUMP" if self.jumps(*state) else "PASS"])
            else:
                actions.append(Action["TRADE" if kind == Kind.RABBIT else "PASS"])
        return np.array(actions)


BEST = BestRun()


def after_three_cards(decisions: Decisions) -> npt.NDArray[Any]:
    """Leave as soon as three level cards have been seen."""
    seen = 10 - decisions.view.unseen.sum(axis=1)
    run = np.where(seen >= 3, Action["LEAVE"], Action["STAY"])
    return np.where(decisions.kind == Kind.RUN, run, Action["PASS"])


def check_mean(gained: npt.NDArray[np.float64], wanted: float) -> None:
    """Check that a mean is within three standard errors."""
    error = gained.std() / np.sqrt(gained.size)
    assert abs(gained.mean() - wanted) < 3 * error, f"{gained.mean():.4f} is not {wanted:.4f} ± {error:.4f}"


@pytest.mark.parametrize(
    ("hearts", "jumps", "value"),
    [(4, 0, "29/12"), (8, 0, "3839/630"), (2, 0, "14/15"), (1, 0, "1/2"), (4, 1, "77977/25200")],
)
def test_the_best_play_of_a_run(hearts: int, jumps: int, value: str) -> None:
    assert BEST.value(hearts, jumps) == Fraction(value)
    check_mean(play(begun(RunTask(hearts, jumps), 20_000), BEST.act), float(Fraction(value)))


def test_leaving_after_three_cards() -> None:
    check_mean(play(begun(RunTask(), 100_000), after_three_cards), 2.175)


def test_the_vector_environment_measures_the_same() -> None:
    """The vector environment of Gymnasium has the same mean, with one run after the other in each slot."""
    env = MegalandRunVectorEnv(5000, autoreset_mode="SameStep")
    env.reset(seed=100_000)
    gained: list[list[float]] = [[] for _ in range(env.num_envs)]
    while min(map(len, gained)) < 3:
        *_, terminations, truncations, infos = env.step(BEST.act(env.games.decisions()))
        assert not truncations.any()
        for game in np.flatnonzero(terminations):
            gained[game].append(infos["final_info"]["episode_return"][game])
    check_mean(np.array([each[:3] for each in gained]), 29 / 12)  # not all there are: the short ones come first


def test_who_falls_on_the_first_card_has_to_pass() -> None:
    env = gym.make("Megaland-Run-v0", hearts=2).unwrapped
    fell = 0
    for seed in range(200):
        _, info = env.reset(seed=seed)
        if info["action_mask"].tolist() == [1] + [0] * 39:
            _, reward, terminated, _, info = env.step(0)
            assert (reward, terminated, info["episode_length"]) == (0, True, 1)
            fell += 1
        else:
            assert np.flatnonzero(info["action_mask"]).tolist() == [Action["STAY"], Action["LEAVE"]]
    assert 35 < fell < 85  # three cards of ten


def test_the_value_of_treasures() -> None:
    values = (5.0, 1.0, 2.0, -0.5, 3.0, 0.0)
    for value, each in ((2.5, (2.5,) * 6), (values, values)):
        games = begun(RunTask(value=value), 300)
        gained = play(games, after_three_cards)
        home = games.decisions().view.home[:, 0]
        assert np.allclose(gained, home @ np.array(each))
        assert np.count_nonzero(gained) > 150


def test_hearts_and_jumps_are_taken_from_the_supply() -> None:
    for hearts, jumps, most in ((2, 0, 4), (4, 3, 4), (8, 14, 8)):
        snapshot = begun(RunTask(hearts, jumps), 1).games.snapshot(0)
        player, supply = snapshot["players"][0], snapshot["supply"]
        assert (player["max_hearts"], player["jumps"]) == (most, jumps)
        assert (supply["hearts"], supply["jumps"]) == (32 - most - 4, 14 - jumps)


# ------------------------------------------------------------------------------------------------ one turn of buying

COINS = {"Sandwich Stand": 1, "Cafe": 2, "Arcade": 3, "Bazaar of Oddities": 4, "Hotel": 5, "Temple of Zoz": 7}
COINS |= {"Gym": 1, "Fish Vendor": 2, "Laboratory": 3, "Root Market": 4, "Arena": 6}
HEART_COSTS = {5: 2, 6: 3, 7: 4, 8: 5}
NAMES = list(TREASURES)
EGG, CARROT, FISH = (NAMES.index(name) for name in ("egg", "carrot", "fish"))

Hand = tuple[int, ...]


def best_turn(snapshot: dict[str, Any]) -> int:
    """The most coins that the buyer can gain, by rules B and C6: all purchases in all orders are tried."""
    player = snapshot["players"][snapshot["buyer"]]
    shelf = {name for name, left in snapshot["supply"]["buildings"].items() if left}

    def payments(cost: int, home: Hand, most: Hand) -> Iterator[Hand]:
        for paid in product(*(range(min(held, limit) + 1) for held, limit in zip(home, most, strict=True))):
            if sum(paid) == cost:
                yield paid

    @cache
    def best(home: Hand, owned: tuple[str, ...], bought: frozenset[str], hearts: int, fish: int, carrots: int) -> int:
        """``fish`` and ``carrots``: wild rights used this round."""
        most = 0
        fish_left, carrots_left = owned.count("Fish Vendor") - fish, owned.count("Root Market") - carrots
        for name in shelf - bought:
            limit = [1] * 6
            limit[EGG] += 96 * ("Ostrich Ranch" in owned)
            limit[FISH] += fish_left
            limit[CARROT] += carrots_left
            gain = COINS.get(name, 0) + owned.count("Hall of Elders" if name in NORMALS else "Toll Booth")
            gain += 3 * owned.count("Smithy") * (COSTS[name] in (4, 5))
            for paid in payments(COSTS[name], home, tuple(limit)):
                rest = tuple(held - given for held, given in zip(home, paid, strict=True))
                wild = max(0, paid[FISH] - 1), max(0, paid[CARROT] - 1)
                later = best(rest, (*owned, name), bought | {name}, hearts, fish + wild[0], carrots + wild[1])
                most = max(most, gain + later)
        for own in range(6) if hearts < 8 else ():
            limit = [0] * 6
            limit[FISH], limit[CARROT] = fish_left, carrots_left
            limit[own] = 96
            for paid in payments(HEART_COSTS[hearts + 1], home, tuple(limit)):
                if paid[own]:
                    rest = tuple(held - given for held, given in zip(home, paid, strict=True))
                    wild = paid[FISH] * (own != FISH), paid[CARROT] * (own != CARROT)
                    later = best(rest, owned, bought, hearts + 1, fish + wild[0], carrots + wild[1])
                    most = max(most, 2 * owned.count("Hotel") + later)
        return most

    owned = tuple(name for name, copies in player["buildings"].items() for _ in range(copies))
    home = tuple(player["home"].get(name, 0) for name in NAMES)
    return best(home, owned, frozenset(player["bought"]), player["max_hearts"], 0, 0)


def test_the_deal() -> None:
    games = begun(BuyTask(), 20_000)
    view = games.decisions().view
    cards, owned = view.home[:, 0].sum(axis=1), view.buildings[:, 0].sum(axis=1)
    assert chi_square(np.bincount(cards)[1:], np.full(12, 20_000 / 12)) < 4
    assert chi_square(np.bincount(owned), np.full(5, 20_000 / 5)) < 4
    dealt = view.home[:, 0].sum(axis=0)
    # Drawn without being put back, so they vary less than chi-square has it: a bound on one side.
    assert chi_square(dealt, dealt.sum() * np.array(list(TREASURES.values())) / 96) < 4
    stars = view.buildings[:, 0, :6].sum(axis=0)
    assert chi_square(stars, stars.sum() * np.array([5, 5, 5, 5, 4, 4]) / 28) < 4
    assert stars.sum() / owned.sum() == pytest.approx(1 / 2, abs=0.01)  # 28 star cards and 28 others lie on the table
    assert (view.on_offer.sum(axis=1) == 13).all()
    assert np.unique(view.on_offer, axis=0).shape[0] > 3000  # of the 3,520 markets
    for name, value in (("coins", 0), ("max_hearts", 4), ("hearts", 4), ("jumps", 0), ("fish_used", 0)):
        assert (getattr(view, name)[:, 0] == value).all(), name
    assert (games.games.kind == Kind.BUY).all()


def test_the_reward_is_the_coins_of_the_turn_alone() -> None:
    """The reward does not contain what Arcades and the night would pay later."""
    games = begun(BuyTask(), 500)
    gained = play(games, random_legal)
    snapshots = [games.games.snapshot(game) for game in range(500)]
    assert gained.tolist() == [snapshot["players"][0]["coins"] for snapshot in snapshots]
    assert any("Endless Mine" in snapshot["players"][0]["buildings"] for snapshot in snapshots)
    assert {snapshot["phase"] for snapshot in snapshots} == {"buy"}


def hands(most_cards: int, number: int) -> list[int]:
    """Seeds of small tasks."""
    games = begun(BuyTask(), 600)
    cards = games.decisions().view.home[:, 0].sum(axis=1)
    return np.flatnonzero(cards <= most_cards)[:number].tolist()


def test_brute_force_by_the_engine_and_by_the_rules() -> None:
    """One optimum tries all actions on copies of the game, the other all purchases by the rules."""
    tasks = pytest.importorskip("megaland_experiments.training.tasks")
    games = begun(BuyTask(), 600).games.copy(hands(most_cards=7, number=40))
    best = tasks.best_turns(games)
    assert best.tolist() == [best_turn(games.snapshot(game)) for game in range(games.num_games)]
    assert len(set(best.tolist())) >= 7


def test_the_best_can_be_gained_through_the_environment() -> None:
    """By playing only actions after which the optimum can still be reached, it is reached."""
    tasks = pytest.importorskip("megaland_experiments.training.tasks")
    env = gym.make("Megaland-Buy-v0").unwrapped
    assert isinstance(env, OneLearnerEnv)
    for seed in hands(most_cards=5, number=12):
        env.reset(seed=seed)
        wanted = tasks.best_turns(env.games.games)[0]
        gained, over = 0.0, False
        while not over:
            legal = np.flatnonzero(env.action_masks())
            after = env.games.games.copy([0] * legal.size)
            after.step(np.stack([legal, np.zeros_like(legal)], axis=1))
            _, reward, over, _, _ = env.step(legal[tasks.best_turns(after).argmax()])
            gained += reward
        assert gained == wanted


# ------------------------------------------------------------------------------------------------ learning them


def test_the_optimum_that_the_experiment_computes() -> None:
    tasks = pytest.importorskip("megaland_experiments.training.tasks")
    for hearts, jumps in ((4, 0), (8, 0), (3, 2)):
        assert tasks.best_run(hearts, jumps) == pytest.approx(float(BEST.value(hearts, jumps)))


@pytest.mark.parametrize("arguments", [["run", "--tasks", "50"], ["buy", "--tasks", "3"]], ids=" ".join)
def test_the_experiment(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    tasks = pytest.importorskip("megaland_experiments.training.tasks")
    assert tasks.main([*arguments, "--steps", "4096"]) == 0
    assert "of the best" in capsys.readouterr().out
