"""Random words by address: golden words, fair choices, and every outcome at its address."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from megaland_env import Action, Building, LevelCard, MegalandConfig, MegalandGames
from megaland_env.cards import NORMAL_BUILDINGS
from megaland_env.engine import rng
from megaland_env.engine.rng import Purpose
from megaland_env.engine.rules.setup import markets
from tests.support.play import SEEDS, chi_square, some_legal

# ---------------------------------------------------------- once more, in plain Python, from the docstring of rng.py

GOLDEN = 0x9E3779B97F4A7C15
WORD = 2**64


def scramble(z: int) -> int:
    """The finaliser of SplitMix64."""
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ z >> 27) * 0x94D049BB133111EB % WORD
    return z ^ z >> 31


def mix(seed: int, purpose: int, round_: int = 0, seat: int = 0, count: int = 0) -> int:
    """The word at an address."""
    address = purpose * 2**56 + round_ * 2**32 + seat * 2**24 + count
    return scramble((scramble((seed + GOLDEN) % WORD) + GOLDEN * address) % WORD)


def choose(word: int, n: int) -> int:
    """A choice among n."""
    return ((word >> 32) * n) >> 32


# Written down once: a change of any of them changes every game ever recorded.
GOLDEN_WORDS: dict[tuple[int, ...], int] = {
    (0, 1, 0, 0, 0): 0x43E903BE5A434DE8,
    (18446744073709551615, 1, 0, 0, 0): 0x10C6D66032D12000,
    (1, 2, 0, 0, 0): 0xE1BEE19F3FB5D75C,
    (9223372036854775808, 2, 0, 0, 0): 0xA66575662FBC8705,
    (2, 3, 1, 0, 0): 0xF8FCBE7131221492,
    (9223372036854775807, 3, 1, 0, 0): 0x5FC89AAB415F46CD,
    (12345, 3, 50, 0, 9): 0xFEB8D786E48D88BA,
    (4294967296, 3, 50, 0, 9): 0xB5BC1A98550A6997,
    (4294967296, 4, 2, 4, 0): 0xE3FDE9847AFD868F,
    (12345, 4, 2, 4, 0): 0x3DC881C575FD826F,
    (9223372036854775807, 8, 10000, 3, 2): 0xFE5B442962092DE7,
    (2, 8, 10000, 3, 2): 0x512430D26FD45138,
    (9223372036854775808, 14, 7, 4, 16777215): 0x8A997A8B269097DF,
    (1, 14, 7, 4, 16777215): 0x09B67386F1F80DA7,
}


def test_golden_words() -> None:
    """The words never change, whatever is refactored."""
    assert scramble(GOLDEN) == 0xE220A8397B1DCDAF  # as published: the first output of SplitMix64 seeded with 0
    for (seed, *address), word in GOLDEN_WORDS.items():
        assert mix(seed, *address) == word
        assert rng.mix(seed, *address).tolist() == [word]


def test_the_purposes_keep_their_numbers() -> None:
    """The numbers of the purposes are part of the addresses."""
    names = [
        "MARKET",
        "FIRST_PLAYER",
        "REVEAL",
        "ENTER",
        "STAY",
        "BOX",
        "SOAP",
        "RABBIT",
        "LABORATORY",
        "STABLE",
        "POND",
    ]
    assert [Purpose(number).name for number in range(1, 15)] == [*names, "EPISODE", "AGENT", "FORK"]


@settings(deadline=None, derandomize=True, max_examples=40)
@given(SEEDS, st.integers(0, 255), st.integers(0, 2**24 - 1), st.integers(0, 255), st.integers(0, 2**24 - 1))
def test_words_of_any_address(seed: int, purpose: int, round_: int, seat: int, count: int) -> None:
    """``mix``, whole arrays of it, and the sum of the parts of an address."""
    word = mix(seed, purpose, round_, seat, count)
    assert rng.mix(seed, purpose, round_, seat, count).tolist() == [word]
    assert rng.mix([0, seed], purpose, round_, seat, [1, count])[1] == word
    key = rng.key(np.array([seed], np.uint64))
    summed = key + rng.offset(purpose, seat=seat) + rng.round_offset(np.array([round_]))
    assert rng.scramble(summed + rng.count_offset(np.array([count]))).tolist() == [word]
    assert rng.scramble(key + rng.offset(purpose, round_, seat, count)).tolist() == [word]


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.integers(0, WORD - 1), st.integers(1, 2**32 - 1))
def test_a_choice_is_one_of_those_there_are(word: int, among: int) -> None:
    """A choice is from 0 to n - 1, for the smallest and the largest word too."""
    words = np.array([word, 0, WORD - 1], np.uint64)
    chosen = rng.choose(words.copy(), among)
    assert chosen.tolist() == [choose(word, among), 0, among - 1]
    assert rng.choose(words, np.full(3, among)).tolist() == chosen.tolist()


@pytest.mark.parametrize("among", [2, 3, 5, 6, 10, 96, 3520])
def test_choices_are_uniform(among: int) -> None:
    """Choices are uniform over seeds, over counts and over rounds."""
    number = 60 * max(among, 100)
    for words in (
        rng.mix(np.arange(number), Purpose.REVEAL, 1),
        rng.mix(5, Purpose.REVEAL, 1, 0, np.arange(number)),
        rng.scramble(rng.key(np.array([5], np.uint64)) + rng.round_offset(np.arange(number))),
    ):
        counts = np.bincount(rng.choose(words, among).astype(int), minlength=among)
        assert counts.size == among
        assert chi_square(counts, np.full(among, number / among)) < 4


def test_scramble_leaves_its_argument() -> None:
    """``scramble`` does not change its argument, which may be part of a state."""
    words = np.arange(5, dtype=np.uint64)
    rng.scramble(words)
    assert words.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(("run", "number"), [("ARENA", 255), ("TUNING", 254), ("TRAINING", 253), ("FITTING", 252)])
def test_seeds_of_runs(run: str, number: int) -> None:
    """The seeds of a run come from its base seed and from the kind of run."""
    seeds = rng.run_seeds(7, [0, 1, 2**24 - 1], rng.Run[run])
    assert seeds.tolist() == [mix(7, 12, 0, number, count) for count in (0, 1, 2**24 - 1)]


def test_seeds_of_episodes() -> None:
    """The seed of the e-th game of a slot with autoreset; the first game has the seed of the slot."""
    seeds = rng.episode_seeds(np.array([7, 7, 2**64 - 1, 7], np.uint64), [0, 1, 0, 2**20])
    assert seeds.tolist() == [7, mix(7, 12, 0, 0, 1), 2**64 - 1, mix(7, 12, 0, 0, 2**20)]


# ---------------------------------------------------------------------------------------------------------------- setup


def test_how_many_markets_there_are() -> None:
    """S1: 3,520 sets of seven with every cost among all 19,448."""
    spread, everything = (markets(MegalandConfig(market=market)) for market in ("spread", "random"))
    assert (len(spread), len(everything)) == (3520, 19448)
    assert set(spread.tolist()) < set(everything.tolist())
    assert len(set(everything.tolist())) == 19448
    assert len(markets(MegalandConfig(market=[building.label for building in NORMAL_BUILDINGS[3:10]]))) == 1


@pytest.mark.parametrize(("market", "sets"), [("spread", 3520), ("random", 19448)])
def test_every_market_is_as_likely_as_any_other(market: str, sets: int) -> None:
    """S1: the engine takes the set that the seed's word chooses, and the words choose all sets alike."""
    config = MegalandConfig(2, market)
    games = MegalandGames(config, 4000)
    games.reset(1000)
    offered = games.rows(np.arange(4000), np.zeros(4000, np.int64)).view.on_offer
    words = [mix(1000 + game, 1) for game in range(4000)]
    wanted = markets(config)[[choose(word, sets) for word in words]]
    buy_bits = 5 + np.arange(len(Building), dtype=np.uint64)
    assert (offered == (wanted[:, None] >> buy_bits & np.uint64(1)).astype(bool)).all()
    counts = np.bincount(rng.choose(rng.mix(np.arange(30 * sets), 1), sets).astype(int), minlength=sets)
    assert chi_square(counts, np.full(sets, 30.0)) < 4


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_every_first_player_is_as_likely(players: int) -> None:
    """S2: every first player is equally likely, and the seed's word chooses it."""
    games = MegalandGames(MegalandConfig(players), 3000)
    games.reset(0)
    first = games.rows(np.arange(3000), np.zeros(3000, np.int64)).view.first_player.argmax(axis=1)
    assert first.tolist() == [choose(mix(seed, 2), players) for seed in range(3000)]
    assert chi_square(np.bincount(first, minlength=players), np.full(players, 3000 / players)) < 4


# ------------------------------------------------------------------------------------------------------------ reveals


def reveals_by_the_book(seed: int, round_: int) -> list[str]:
    """L3: the ten level cards of a round in the order in which they would all come."""
    unseen, order = [card.label for card in LevelCard], []
    for number in range(10):
        order.append(unseen.pop(choose(mix(seed, 3, round_, 0, number), len(unseen))))
    return order


def test_the_level_deck_depends_on_the_seed_and_the_round_alone() -> None:
    """L3: the cards of a round come in the same order, however the players act; only their number differs."""
    seen: dict[tuple[int, int], set[int]] = {}
    for players, boldness in ((2, 0.3), (3, 1.0), (5, 4.0)):
        games = MegalandGames(MegalandConfig(players, max_rounds=6), 12, record=True)
        games.reset(500)
        generator = np.random.default_rng(players)
        while games.active.any():
            games.step(some_legal(games, generator, boldness))
        for game in range(12):
            order: list[str] = []
            for event in games.events(game):
                if event["event"] == "round":
                    round_, order = event["value"], []
                elif event["event"] == "reveal":
                    order.append(event["card"])
                    assert order == reveals_by_the_book(500 + game, round_)[: len(order)]
                    seen.setdefault((game, round_), set()).add(len(order))
    assert any(max(lengths) >= 7 for lengths in seen.values())


def test_first_draws_are_at_their_addresses() -> None:
    """L1, D2: on entering, in order from the first player, each by what is left in the deck."""
    games = MegalandGames(MegalandConfig(5), 200, record=True)
    games.reset(600)
    treasures = ["gear", "stone", "egg", "carrot", "crystal", "fish"]
    for game in range(200):
        deck = [6, 20, 16, 30, 10, 14]
        draws = [event for event in games.events(game) if event["event"] == "draw"][:5]
        first = choose(mix(600 + game, 2), 5)
        for turn, draw in enumerate(draws):
            seat = (first + turn) % 5
            cards = [treasure for treasure in range(6) for _ in range(deck[treasure])]
            drawn = cards[choose(mix(600 + game, 4, 1, seat), len(cards))]
            assert (draw["seat"], draw["treasure"]) == (seat, treasures[drawn])
            deck[drawn] -= 1


def test_draws_are_by_what_is_left() -> None:
    """D1: over many games the first draw is each treasure as often as it is in the deck."""
    games = MegalandGames(MegalandConfig(2, first_player=0), 20_000)
    games.reset(0)
    carried = games.rows(np.arange(20_000), np.zeros(20_000, np.int64)).view.carried[:, 0]
    # Before the first decision there may have been more draws (a Treasure Box), which hands of one card had not.
    single = carried[carried.sum(axis=1) == 1].sum(axis=0)
    assert chi_square(single, single.sum() * np.array([6, 20, 16, 30, 10, 14]) / 96) < 4


def test_staying_draws_by_the_number_of_cards_seen() -> None:
    """L9: each purpose has words of its own: who leaves does not change the draws of those who stay."""
    games = MegalandGames(MegalandConfig(3), 60, record=True)
    games.reset(700)
    while (games.rounds == 1).any() and games.active.any():
        actions = np.where(games.active, Action["STAY"].value, 0)
        legal = np.take_along_axis(games.legal, actions[:, :, None], 2)[:, :, 0]
        games.step(np.where(legal, actions, games.legal.argmax(axis=2)))
    treasures = ["gear", "stone", "egg", "carrot", "crystal", "fish"]
    checked = 0
    for game in range(60):
        deck = dict(zip(treasures, (6, 20, 16, 30, 10, 14), strict=True))
        cards_seen, stayed = 0, False
        for event in games.events(game):
            if event["event"] in ("fall", "home", "reshuffle"):
                break  # from here on other things move too
            if event["event"] == "reveal":
                cards_seen, stayed = cards_seen + 1, False
            stayed |= event["event"] == "stay"
            if event["event"] == "draw":
                if stayed:
                    cards = [name for name in treasures for _ in range(deck[name])]
                    word = mix(700 + game, 5, 1, event["seat"], cards_seen - 1)
                    assert event["treasure"] == cards[choose(word, len(cards))]
                    checked += 1
                deck[event["treasure"]] -= 1
    assert checked > 300


# --------------------------------------------------------------------------------------------- random numbers of agents


def agent_word(seed: int, purpose: int, seat: int, decided: int, agent: int, number: int) -> int:
    """Random word ``number`` (from 1) of an agent, from a one-way function: the seed cannot be computed from it."""
    hidden = mix(seed, purpose, 0, seat, decided)
    return scramble(((hidden ^ scramble((agent + GOLDEN) % WORD)) + GOLDEN * number) % WORD) ^ hidden


@pytest.mark.parametrize("agent", [0, 1, 2**64 - 1])
def test_random_numbers_of_agents_are_at_their_address(agent: int) -> None:
    """``decisions.random`` and the seeds of forks, by the formula of the docstring."""
    games = MegalandGames(MegalandConfig(3), 20)
    games.reset(800)
    generator = np.random.default_rng(8)
    for _ in range(15):
        games.step(some_legal(games, generator))
    decisions = games.decisions()
    told = [games.snapshot(game)["decisions"] for game in range(20)]
    numbers, seeds = decisions.random(2, seed=agent), decisions.fork(2, seed=agent).seeds.reshape(-1, 2)
    for row, (game, seat) in enumerate(zip(decisions.game, decisions.seat, strict=True)):
        place = (int(seat), told[game][seat], agent)
        wanted = [agent_word(800 + int(game), 13, *place, number) for number in (1, 2)]
        assert numbers[row].tolist() == [(word >> 11) * 2.0**-53 for word in wanted]
        assert seeds[row].tolist() == [agent_word(800 + int(game), 14, *place, number) for number in (1, 2)]
