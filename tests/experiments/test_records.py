"""Records agree with the engine, with each other and with a second reader, and nothing is lost or repeated."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from megaland_env import Action, Building, Decisions, Kind, LevelCard, MegalandConfig, MegalandGames, Treasure
from megaland_env.agent import RandomAgent, make_agent
from megaland_env.cards import LEVEL_CARDS
from megaland_env.checksums import Checksums
from megaland_experiments import cli
from megaland_experiments.matches.line_ups import MIXED, make_line_ups
from megaland_experiments.matches.playing import AgentError, play
from megaland_experiments.probe.decisions import Decided, DecisionRecorder
from megaland_experiments.probe.measures import worths
from megaland_experiments.records import Records, can, load, simulation
from megaland_experiments.records import folder as records_folder
from megaland_experiments.records import schema as record_schema
from megaland_experiments.records.schema import IN_THE_RUN_MODEL, TABLES, building_column, columns_table
from megaland_experiments.report import page as report
from megaland_experiments.shared.run_folder import FolderError
from tests.support.ledger import COUNTED, Ledger
from tests.support.places import ROOT

AGENTS = ["random", "hearts", "threshold"]
GAMES = 12
Row = dict[str, Any]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Records:
    """A few games of tables of all sizes, in several parts."""
    config = MegalandConfig(market="random", max_rounds=12)
    return simulation.simulate(
        AGENTS, tmp_path_factory.mktemp("records"), games=GAMES, num_players=[2, 3, 4, 5], config=config, part=30
    )


def config_of(found: Records, players: int) -> MegalandConfig:
    return MegalandConfig.from_dict({**found.manifest["settings"]["config"], "num_players": players})


def played_again(found: Records, players: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(games,) numbers, and (games, P) the agent of each seat, by its position in the manifest."""
    games = found.games.filter(pl.col("num_players") == players).collect()
    agents = found.manifest["settings"]["agents"]
    seats = found.seats.filter(pl.col("num_players") == players).sort("game", "seat").collect()
    who = np.array([agents.index(agent) for agent in seats["agent"]]).reshape(-1, players)
    return games["game"].to_numpy().astype(np.int64), who


def seeds_of(found: Records, games: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    return found.games.filter(pl.col("game").is_in(games.tolist())).sort("game").collect()["seed"].to_numpy()


# ------------------------------------------------------------------------------------------------------ the engine


def check_against_snapshots(found: Records, players: int) -> None:
    """Follow the events of every game, and compare with its last snapshot and with the other tables."""
    config = config_of(found, players)
    numbers, who = played_again(found, players)
    agents = [make_agent(agent) for agent in found.manifest["settings"]["agents"]]
    games = MegalandGames(config, len(numbers))
    games.reset(seeds_of(found, numbers))
    while games.active.any():
        decisions = games.decisions()
        owners = who[decisions.game, decisions.seat]
        answers = np.zeros(len(decisions), np.int64)
        for agent, made in enumerate(agents):
            rows = np.flatnonzero(owners == agent)
            if rows.size:
                answers[rows] = made.act(decisions[rows])
        games.step(games.scatter(decisions, answers))

    of_size = pl.col("game").is_in(numbers.tolist())
    events = found.events.filter(of_size).collect().partition_by("game", as_dict=True)
    rounds = found.rounds.filter(of_size).collect().partition_by("game", as_dict=True)
    seats = found.seats.filter(of_size).collect().partition_by("game", as_dict=True)
    for game, number in enumerate(numbers.tolist()):
        ledger = Ledger(players, config.star_copies).follow(events[number,].iter_rows(named=True))
        snapshot = games.snapshot(game)
        expected = ledger.snapshot()
        assert {name: snapshot[name] for name in expected if name != "players"} == {
            name: value for name, value in expected.items() if name != "players"
        }
        for mine, theirs in zip(expected["players"], snapshot["players"], strict=True):
            assert mine == {name: theirs[name] for name in mine}
        in_order = sorted(ledger.rounds, key=lambda row: (row["seat"], row["round"]))
        assert rounds[number,].select(list(in_order[0])).to_dicts() == in_order
        check_seats(seats[number,].to_dicts(), ledger, snapshot)


def check_seats(seats: list[Row], ledger: Ledger, snapshot: Row) -> None:
    coins = [player["coins"] for player in snapshot["players"]]
    for seat, row in enumerate(seats):
        player = snapshot["players"][seat]
        of_seat = [of_round for of_round in ledger.rounds if of_round["seat"] == seat]
        others = coins[:seat] + coins[seat + 1 :]
        won = seat in snapshot["winners"]
        totals = {name: sum(of_round[name] for of_round in of_seat) for name in COUNTED if name in row}
        falls = sum(of_round["fell"] for of_round in of_seat)
        owned = {b.label: row[building_column("owns", b)] for b in Building if row[building_column("owns", b)]}
        assert {name: row[name] for name in totals} == totals
        assert row == row | {
            "seat": seat,
            "turn": of_seat[0]["turn"],
            "won": won,
            "win_share": 1 / len(snapshot["winners"]) if won else 0,
            "place": 1 + sum(other > coins[seat] for other in coins),
            "coins": coins[seat],
            "margin": coins[seat] - max(others),
            "max_hearts": player["max_hearts"],
            "jumps": player["jumps"],
            "home": sum(player["home"].values()),
            "buildings": sum(owned.values()),
            "decisions": snapshot["decisions"][seat],
            "falls": falls,
            "runs_home": snapshot["round"] - falls,
        }
        assert owned == player["buildings"]


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_events_lead_to_the_engine_s_last_state(small: Records, players: int) -> None:
    check_against_snapshots(small, players)


@pytest.mark.soak
def test_events_lead_to_the_engine_s_last_state_in_1000_games(tmp_path: Path) -> None:
    agents = ["planner", "threshold", "hearts", "builder", "saver", "random"]
    found = simulation.simulate(agents, tmp_path / "run", games=250, num_players=[2, 3, 4, 5], part=100)
    assert found.games.select(pl.len()).collect().item() >= 1000
    for players in (2, 3, 4, 5):
        check_against_snapshots(found, players)


def test_every_kind_of_event_and_decision_is_there(small: Records) -> None:
    """The records have every kind of event and decision, so that the other tests check all of them."""
    assert set(small.events.collect()["event"]) == set(record_schema.EVENTS)
    assert set(small.decisions.collect()["kind"]) == set(record_schema.KINDS) - {"none"}


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_the_games_are_those_of_a_match(small: Records, players: int) -> None:
    numbers, who = played_again(small, players)
    seeds = seeds_of(small, numbers)
    matches = play(config_of(small, players), AGENTS, who, seeds)
    games = small.games.filter(pl.col("num_players") == players).collect()
    for column, expected in (
        ("rounds", matches.rounds),
        ("steps", matches.steps),
        ("truncated", matches.truncated),
        ("num_winners", matches.winners.sum(axis=1)),
        ("most_coins", matches.coins.max(axis=1)),
    ):
        assert games[column].to_list() == expected.tolist()
    seats = small.seats.filter(pl.col("num_players") == players).collect()
    for column, of_seats in (
        ("won", matches.winners),
        ("win_share", matches.shares),
        ("place", matches.places),
        ("coins", matches.coins),
        ("decisions", matches.decisions),
    ):
        assert seats[column].to_list() == of_seats.reshape(-1).tolist()
    fresh = MegalandGames(config_of(small, players), len(numbers))
    fresh.reset(seeds)
    assert games["first_player"].to_list() == fresh.first_player.tolist()
    view = fresh.rows(np.arange(len(numbers)), np.zeros(len(numbers), np.int64)).view
    for building in tuple(Building)[6:]:
        assert games[building_column("offers", building)].to_list() == view.on_offer[:, building].tolist()


# ------------------------------------------------------------------------------------------------------ decisions


def words_of_a_decision(snapshot: Row, decisions: Decisions, row: int, action: int) -> Row:
    """The expected row of a decision, from the snapshot before it."""
    seat = int(decisions.seat[row])
    me, players = snapshot["players"][seat], snapshot["players"]
    unseen = [card for card in LevelCard if card.label not in snapshot["level_seen"]]
    soap = me["buildings"].get("Soap Makers", 0) > 0

    def chance(jumping: bool) -> float:
        deadly = 0
        for card in unseen:
            facts = LEVEL_CARDS[card]
            safe = (jumping and facts.jump_symbol) or (soap and card == LevelCard.SLUDGE_CREATURE)
            deadly += facts.skulls >= me["hearts"] and not safe
        return float(np.float32(deadly / len(unseen)))

    inside = me["in_level"]
    legal = np.flatnonzero(decisions.legal[row]).tolist()
    return {
        "seat": seat,
        "round": snapshot["round"],
        "step": snapshot["steps"] + 1,
        "kind": snapshot["decision"],
        "action": Action(action).name,
        "legal": sum(1 << legal_action for legal_action in legal),
        "num_legal": len(legal),
        "turn": (seat - snapshot["first_player"]) % len(players),
        "coins": me["coins"],
        "best_other_coins": max(other["coins"] for other in players[:seat] + players[seat + 1 :]),
        "hearts": me["hearts"],
        "max_hearts": me["max_hearts"],
        "jumps": me["jumps"],
        "carried": sum(me["carried"].values()),
        "home": sum(me["home"].values()),
        **{f"carried_{treasure.label}": me["carried"].get(treasure.label, 0) for treasure in Treasure},
        **{f"home_{treasure.label}": me["home"].get(treasure.label, 0) for treasure in Treasure},
        "buildings": sum(me["buildings"].values()),
        **{building_column("owns", b): me["buildings"].get(b.label, 0) for b in IN_THE_RUN_MODEL},
        "level_card": snapshot["level_card"],
        "unseen": sum(1 << card for card in unseen) if inside else None,
        "num_unseen": len(unseen) if inside else None,
        "fall_chance": chance(False) if inside else None,
        "jump_fall_chance": chance(True) if inside else None,
        "others_in_level": sum(other["in_level"] for other in players) - inside,
        "buying": snapshot["pay"]["buying"].replace("Heart", "heart") if snapshot["pay"] else None,
    }


@pytest.mark.parametrize("players", [2, 5])
def test_decisions_are_what_the_seats_could_see(small: Records, players: int) -> None:
    numbers, who = played_again(small, players)
    agents = [make_agent(agent) for agent in AGENTS]
    games = MegalandGames(config_of(small, players), len(numbers))
    games.reset(seeds_of(small, numbers))
    expected: dict[int, list[Row]] = {number: [] for number in numbers.tolist()}
    while games.active.any():
        decisions = games.decisions()
        answers = np.array(
            [
                int(agents[who[decisions.game[row], decisions.seat[row]]].act(decisions[[row]])[0])
                for row in range(len(decisions))
            ]
        )
        snapshots = {game: games.snapshot(game) for game in set(decisions.game.tolist())}
        for row, game in enumerate(decisions.game.tolist()):
            words = words_of_a_decision(snapshots[game], decisions, row, int(answers[row]))
            expected[numbers[game]].append({**words, "agent": AGENTS[who[game, words["seat"]]]})
        games.step(games.scatter(decisions, answers))
    found = small.decisions.filter(pl.col("num_players") == players).collect()
    assert found["game"].to_list() == [number for number, rows in expected.items() for _ in rows]
    in_order = [words for rows in expected.values() for words in rows]
    for row, words in zip(found.iter_rows(named=True), in_order, strict=True):
        assert {name: row[name] for name in words} == words


def test_which_actions_were_legal(small: Records) -> None:
    found = small.decisions.with_columns(can("STAY").alias("stay"), can("TREASURE_EGG").alias("egg")).collect()
    assert (found["stay"] == (found["kind"] == "run")).all()
    pays = found.filter(pl.col("kind") == "pay", pl.col("egg"))
    assert len(pays) > 0
    assert (pays["home_egg"] > 0).all()


def test_events_follow_from_the_decision_of_the_same_step(small: Records) -> None:
    bought = small.decisions.filter(pl.col("action").cast(pl.String).str.starts_with("HEART")).collect()
    hearts = small.events.filter(pl.col("event") == "heart").collect()
    asked_to_pay = small.decisions.filter(pl.col("buying") == "heart").collect()
    moments = pl.concat([frame.select("game", "seat", "step") for frame in (bought, asked_to_pay)])
    assert len(hearts) == len(bought) > 0
    assert hearts.join(moments, on=["game", "seat", "step"], how="anti").is_empty()


def test_what_is_kept_is_enough_for_the_exact_solver(small: Records) -> None:
    """Staying, leaving and jumping are valued as ``megaland probe`` does it from the games themselves."""
    players = 4
    numbers, who = played_again(small, players)
    prober = DecisionRecorder(make_agent("threshold"))
    roster = ["random", "hearts", prober]
    play(config_of(small, players), roster, who, seeds_of(small, numbers))
    probed = prober.decided().of(Kind.RUN, Kind.JUMP)
    probed = probed[np.argsort(probed.game, kind="stable")]

    kept = pl.col("kind").cast(pl.String).is_in(["run", "jump"]) & (pl.col("agent") == "threshold")
    found = small.decisions.filter(kept, pl.col("num_players") == players).collect()
    assert len(found) == len(probed) > 100
    buildings = np.zeros((len(found), len(Building)), np.uint8)
    for building in IN_THE_RUN_MODEL:
        buildings[:, building] = found[building_column("owns", building)]
    hand = [f"carried_{treasure.label}" for treasure in Treasure]
    kinds = {kind.label: int(kind) for kind in Kind}
    decided = Decided(
        game=found["game"].to_numpy(),
        seat=found["seat"].to_numpy(),
        kind=np.array([kinds[kind] for kind in found["kind"]], np.uint8),
        round=found["round"].to_numpy(),
        action=np.array([Action[action] for action in found["action"]]),
        legal=found["legal"].to_numpy(),
        unseen=found["unseen"].to_numpy(),
        hearts=found["hearts"].to_numpy(),
        jumps=found["jumps"].to_numpy(),
        carried=found.select(hand).to_numpy(),
        home=np.zeros((len(found), 6), np.uint8),
        picked=np.zeros((len(found), 6), np.uint8),
        buildings=buildings,
    )
    mine, theirs = worths(decided), worths(probed)
    assert np.array_equal(mine.loss, theirs.loss)
    assert np.array_equal(mine.cares, theirs.cares)


def test_a_share_of_the_decisions(copied: Path, tmp_path: Path) -> None:
    everything = load(copied).decisions.collect()
    for share in (0.0, 0.3):
        out = tmp_path / f"{share}"
        assert run(*WORDS, "--decisions", f"{share}", "--out", str(out)) == 0
        kept = load(out).decisions.collect()
        assert kept.schema == everything.schema
        spread = 4 * (len(everything) * share * (1 - share)) ** 0.5
        assert abs(len(kept) - share * len(everything)) <= spread
        key = ["game", "step", "seat"]
        assert kept.equals(everything.join(kept.select(key), on=key, how="semi", maintain_order="left"))
        for table in ("games", "seats", "rounds", "events"):
            assert getattr(load(out), table).collect().equals(getattr(load(copied), table).collect())


# ------------------------------------------------------------------------------------------------------ who plays what


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_all_sit_in_all_seats_equally_often_on_luck_of_their_own(players: int, tmp_path: Path) -> None:
    plan = simulation.SimulationPlan.of(["random", "saver", "hearts"], 120 * players, players, 5, 1.0, None, 64)
    seats, which = (np.concatenate(arrays) for arrays in zip(*map(plan.line_ups, plan.parts), strict=True))
    seeds = np.concatenate([plan.seeds(part) for part in plan.parts])
    assert len(set(seeds.tolist())) == len(seeds) == 120 * players
    expected = make_line_ups(3, players, [MIXED])
    assert {plan.names.line_ups[number] for number in which} == {line_up.name(plan.agents) for line_up in expected}
    for seat in range(players):
        assert len(set(Counter(seats[:, seat].tolist()).values())) == 1
    for row, number in zip(seats.tolist(), which.tolist(), strict=True):
        assert tuple(sorted(row)) == expected[number].agents
    circles = {tuple(np.roll(row, -int(np.argmin(row)))) for row in seats} if players == 3 else set()
    assert len(circles) == (2 if players == 3 else 0)  # to the left and to the right
    assert all(part.games <= 64 and part.games % players == 0 for part in plan.parts)
    assert max(part.games for part in plan.parts) - min(part.games for part in plan.parts) <= players


def test_one_agent_alone_plays_no_game_twice(tmp_path: Path) -> None:
    found = simulation.simulate(["random"], tmp_path, games=40, num_players=[2, 3], config=MegalandConfig(max_rounds=1))
    assert found.games.select(pl.col("seed").n_unique()).collect().item() == 40 + 42
    assert found.manifest["line_ups"] == ["2 random", "3 random"]
    assert found.games.group_by("line_up").len().sort("line_up").collect().rows() == [
        ("2 random", 40),
        ("3 random", 42),
    ]


# ------------------------------------------------------------------------------------------------------ readers


def test_another_reader_finds_the_same(small: Records) -> None:
    """Every cell of every table, as DuckDB reads it."""
    keys = {"games": "game", "seats": "game, seat", "rounds": "game, seat, round"}
    keys |= {"decisions": "game, step, seat", "events": "game, number"}
    with duckdb.connect() as connection:
        for table, key in keys.items():
            found = connection.execute(f"SELECT * FROM '{small.path}/{table}/*.parquet' ORDER BY {key}")
            mine = getattr(small, table).collect()
            assert [column[0] for column in found.description] == mine.columns
            assert found.fetchall() == mine.rows()
        question = f"SELECT agent, avg(win_share) FROM '{small.path}/seats/*.parquet' GROUP BY agent ORDER BY agent"
        shares = dict(connection.execute(question).fetchall())
    mine = small.seats.group_by("agent").agg(pl.col("win_share").mean()).collect()
    assert shares == pytest.approx(dict(mine.rows()))


def test_the_manifest_says_what_was_played(small: Records) -> None:
    manifest = json.loads((small.path / "manifest.json").read_text())
    assert manifest == small.manifest
    assert manifest["schema"] == record_schema.SCHEMA_VERSION
    assert manifest["rows"] == {table: getattr(small, table).select(pl.len()).collect().item() for table in TABLES}
    assert sum(part["games"] for part in manifest["parts"]) == manifest["rows"]["games"] == 51
    assert {"python", "numpy", "polars", "megaland"} <= set(manifest["versions"])


def test_the_page_of_columns_is_the_generated_one() -> None:
    page = (ROOT / "docs" / "records.md").read_text(encoding="utf-8")
    for table in TABLES:
        assert columns_table(table) in page, "write it again: python docs/make_records.py"


# ------------------------------------------------------------------------------------------------------ nothing is lost


WORDS = ["random", "threshold", "--games", "12", "--players", "2", "3", "--max-rounds", "3", "--part", "6"]


def run(*words: str) -> int:
    return cli.main(["simulate", *words])


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob("**/*.parquet")}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that was not stopped."""
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    assert run(*WORDS, "--out", str(out)) == 0
    return out


@pytest.fixture(scope="module")
def expected(undisturbed: Path) -> dict[str, bytes]:
    """The files of the undisturbed run."""
    found = contents(undisturbed)
    assert len(found) == 5 * 4
    return found


@pytest.fixture
def copied(undisturbed: Path, tmp_path: Path) -> Path:
    """A folder of complete records, which a test may damage."""
    return shutil.copytree(undisturbed, tmp_path / "run")


def test_two_workers_make_the_same_files(expected: dict[str, bytes], tmp_path: Path) -> None:
    assert run(*WORDS, "--out", str(tmp_path / "run"), "--workers", "2") == 0
    assert contents(tmp_path / "run") == expected


def test_parts_of_another_size_have_the_same_rows(expected: dict[str, bytes], tmp_path: Path) -> None:
    found, config = [], MegalandConfig(max_rounds=3)
    for part in (6, 100):
        found.append(
            simulation.simulate(WORDS[:2], tmp_path / f"{part}", games=12, num_players=[2, 3], config=config, part=part)
        )
    assert contents(found[0].path) == expected
    assert len(contents(found[1].path)) == 5 * 2
    for table in TABLES:
        assert getattr(found[0], table).collect().equals(getattr(found[1], table).collect())


def test_the_same_command_again_plays_nothing(
    expected: dict[str, bytes], copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = (copied / "manifest.json").read_bytes()
    monkeypatch.setattr(simulation, "play", None)
    assert run(*WORDS, "--out", str(copied)) == 0
    assert contents(copied) == expected
    assert (copied / "manifest.json").read_bytes() == manifest


SLOWLY = """
import sys, time
from megaland_experiments import cli
from megaland_experiments.records import simulation

def write(*arguments):
    time.sleep(0.3)  # so that the machine may be busy while somebody reaches for Ctrl-C
    return _write(*arguments)

_write, simulation.write = simulation.write, write
sys.exit(cli.main(sys.argv[1:]))
"""


def test_killed_in_the_middle_it_goes_on(expected: dict[str, bytes], tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = [sys.executable, "-c", SLOWLY, "simulate", *WORDS, "--out", str(out)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for _ in range(1200):
        if list(out.glob("events/*.parquet")) and len(list(out.glob("*/*.parquet"))) % 5:
            break
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.communicate()
    kept = contents(out)
    assert 0 < len(kept) < len(expected)
    assert kept == {name: content for name, content in expected.items() if name in kept}
    with pytest.raises(FolderError, match=r"has \d of its 4 parts; simulate again .*: megaland simulate random thresh"):
        load(out)
    (out / "games" / ".part-00000.parquet.abc_1234.part").write_bytes(b"half")
    whole = [name for name in expected if all((out / table / Path(name).name).exists() for table in TABLES)]
    times = {name: (out / name).stat().st_mtime_ns for name in whole}
    assert run(*WORDS, "--out", str(out)) == 0
    assert contents(out) == expected
    assert times == {name: (out / name).stat().st_mtime_ns for name in whole}
    assert list(out.glob("**/.*")) == [out / ".lock"]
    assert load(out).games.select(pl.len()).collect().item() == 24


def test_interrupted_it_says_how_to_go_on(tmp_path: Path) -> None:
    out = tmp_path / "run"
    code = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n{SLOWLY}"
    command = [sys.executable, "-c", code, "simulate", *WORDS, "--out", str(out)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not list(out.glob("*/*.parquet")):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == cli.INTERRUPTED
    assert f"what was played is kept in {out}; to go on: megaland simulate random threshold" in said
    assert " --workers 1\n" in said


class Illegal:
    """Stays in the level when a buyer is asked."""

    def act(self, decisions: Decisions) -> npt.NDArray[Any]:
        actions = RandomAgent().act(decisions).astype(np.int64)
        return np.where(decisions.kind == Kind.BUY, Action["STAY"], actions)


def test_a_broken_agent_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "run")
    assert run("tests.experiments.test_records:Illegal", "--games", "4", "--out", out) == cli.FAILURE
    said = capsys.readouterr().err
    assert "agent 'tests.experiments.test_records:Illegal' chose action 1 (STAY), which is not legal" in said
    assert "what was played is kept" in said


# ------------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"agents": []}, "agents is \\[\\]; it must be a list of at least one name"),
        ({"agents": "random"}, "agents is 'random'"),
        ({"agents": [RandomAgent()]}, "it must be a list of at least one name"),
        ({"agents": ["random", "random"]}, "'random' is named twice"),
        ({"agents": ["nobody"]}, "no agent 'nobody'"),
        ({"games": 0}, "games is 0; it must be a whole number from 1 to"),
        ({"games": 2**24}, "games is 16777216; it must be a whole number from 1 to"),
        ({"games": 2.5}, "games is 2.5; it must be a whole number"),
        ({"num_players": 6}, "num_players is 6"),
        ({"num_players": []}, "num_players names no number"),
        ({"seed": 0.5}, "0.5 is not an integer"),
        ({"decisions": 1.5}, "decisions is 1.5; it must be a share from 0 to 1"),
        ({"decisions": "all"}, "decisions is 'all'"),
        ({"part": 0}, "part is 0; it must be a whole number from 1 to 65536"),
        ({"part": 100_000}, "part is 100000"),
        ({"workers": 0}, "workers is 0"),
        ({"workers": 10**9}, "workers is 1000000000"),
        ({"workers": 1.5}, "workers is 1.5"),
    ],
)
def test_arguments_without_meaning(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    arguments = {"agents": ["random"], "out": tmp_path / "run", "games": 4} | changes
    with pytest.raises(ValueError, match=message):
        simulation.simulate(**arguments)
    assert not (tmp_path / "run").exists()


def test_numbers_of_numpy_will_do(tmp_path: Path) -> None:
    found = simulation.simulate(["random"], tmp_path, games=np.int64(2), num_players=np.int64(2), seed=np.uint64(3))
    assert found.manifest["settings"]["games"] == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--games", "30"], "games is 12 there and 30 here"),
        (["--seed", "1"], "seed is 0 there and 1 here"),
        (["--players", "2"], "players is [2, 3] there and [2] here"),
        (["--decisions", "0.5"], "decisions is 1.0 there and 0.5 here"),
        (["--part", "8"], "part is 6 there and 8 here"),
        (["--payment", "auto"], "config is "),
    ],
)
def test_other_records_in_the_folder_are_refused(
    words: list[str], message: str, copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(copied)
    assert run(*WORDS, *words, "--out", str(copied)) == cli.USAGE_ERROR
    said = capsys.readouterr().err
    assert f"{copied} holds records with other settings: {message}" in said
    assert "name another folder, or delete this one" in said
    assert contents(copied) == before


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    assert run("random", "--games", "2", "--out", str(tmp_path)) == cli.USAGE_ERROR
    assert "does not hold records, but thesis.txt" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    with pytest.raises(FolderError, match="does not hold records: there is no manifest"):
        load(tmp_path)
    (tmp_path / "manifest.json").write_text('{"name": "an app"}')
    with pytest.raises(FolderError, match="of something else"):
        load(tmp_path)
    with pytest.raises(FolderError, match="is not a folder"):
        simulation.simulate(["random"], tmp_path / "thesis.txt", games=2)


def as_written_by_0_1(folder: Path) -> None:
    """Turn a folder into one of version 0.1: no version, no checksums, and less in the footers."""
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["version"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    for file in folder.glob("*/*.parquet"):
        footer = json.loads(pl.read_parquet_metadata(file)["megaland"])
        del footer["work"]
        pl.read_parquet(file).write_parquet(file, compression="zstd", metadata={"megaland": json.dumps(footer)})
    for name in ("SHA256SUMS", ".lock"):
        (folder / name).unlink()


def test_records_of_0_1_are_read_with_a_warning(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = load(copied).seats.collect()
    as_written_by_0_1(copied)
    with pytest.warns(UserWarning, match=r"written by version 0\.1\.0, without checksums"):
        assert load(copied).seats.collect().equals(expected)
    before = contents(copied)
    assert run(*WORDS, "--out", str(copied)) == cli.USAGE_ERROR
    assert "holds records of version 0.1.0, which this version" in capsys.readouterr().err
    assert contents(copied) == before
    (copied / "games" / "part-00000.parquet").unlink()
    with pytest.raises(FolderError, match="has 3 of its 4 parts; this version cannot complete it"):
        load(copied)


DAMAGED_MANIFESTS: list[dict[str, Any]] = [
    *({"parts": parts} for parts in ([{"colour": "red"}], [3], 3, [], {}, None)),
    *({"settings": settings} for settings in (3, [], {}, {"agents": "x"}, {"agents": ["x"], "players": "2"})),
    {"schema": "1"}, {"schema": None}, {"schema": True}, {"line_ups": 3}, {"line_ups": [[]]}, {"command": 3},
    {"versions": None}, {"rows": 3}, {"rows": {}}, {"rows": {"games": "x"}}, {"format": "x"}, {"format": []},
]  # fmt: skip


@pytest.mark.parametrize("change", DAMAGED_MANIFESTS)
@pytest.mark.filterwarnings("ignore:.*without checksums")
def test_a_manifest_with_wrong_values_is_named(change: dict[str, Any], copied: Path) -> None:
    as_written_by_0_1(copied)
    manifest = json.loads((copied / "manifest.json").read_text())
    (copied / "manifest.json").write_text(json.dumps(manifest | change))
    with pytest.raises(FolderError, match=r"manifest\.json|holds records of schema"):
        load(copied)


@pytest.mark.parametrize("change", [{"name": "../../x"}, {"first_game": "0"}, {"games": None}, {"num_players": 2.0}])
@pytest.mark.filterwarnings("ignore:.*without checksums")
def test_a_manifest_with_damaged_parts_is_named(change: dict[str, Any], copied: Path) -> None:
    as_written_by_0_1(copied)
    manifest = json.loads((copied / "manifest.json").read_text())
    manifest["parts"][1] |= change
    (copied / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(FolderError, match=r"manifest\.json is damaged: its part"):
        load(copied)


def damages(good: bytes, every: int) -> list[bytes]:
    flips = [good[:k] + bytes([good[k] ^ 16]) + good[k + 1 :] for k in range(0, len(good), every)]
    return [*flips, b"", good[: len(good) // 2], good[:-1], good + b"x", b"[" * 100_000, b"{}", b"3", b"PAR1"]


@pytest.mark.parametrize("name", ["manifest.json", *(f"{table}/part-00001.parquet" for table in TABLES)])
def test_any_damage_to_any_file_names_it(name: str, copied: Path) -> None:
    file = copied / name
    good = file.read_bytes()
    for bad in damages(good, 61):
        file.write_bytes(bad)
        with pytest.raises(FolderError, match=name):
            load(copied)
        with pytest.raises(FolderError, match=name):
            report.report(copied)
    assert run(*WORDS, "--out", str(copied)) == cli.USAGE_ERROR
    file.write_bytes(good)
    load(copied)


@pytest.mark.parametrize("name", ["manifest.json", "games/part-00001.parquet", "SHA256SUMS"])
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_what_is_no_file_is_named(name: str, copied: Path) -> None:
    for make in (os.mkfifo, os.mkdir, lambda path: (Path(path).touch(), os.truncate(path, 2**41))):
        (copied / name).rmdir() if (copied / name).is_dir() else (copied / name).unlink()
        make(str(copied / name))
        with pytest.raises(FolderError, match=name):
            load(copied)
        assert run(*WORDS, "--out", str(copied)) == cli.USAGE_ERROR


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.filterwarnings("ignore:.*without checksums")
def test_a_pipe_among_records_of_0_1_is_named(copied: Path) -> None:
    as_written_by_0_1(copied)
    (copied / "seats" / "part-00001.parquet").unlink()
    os.mkfifo(copied / "seats" / "part-00001.parquet")
    with pytest.raises(FolderError, match=r"part-00001\.parquet is not a regular file"):
        load(copied)


def swap(one: Path, other: Path) -> None:
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)


def test_swapped_parts_are_named_even_if_their_checksums_are_swapped(copied: Path) -> None:
    names = [f"seats/part-0000{k}.parquet" for k in (2, 3)]
    swap(*(copied / name for name in names))
    with pytest.raises(FolderError, match=r"seats/part-00002\.parquet is damaged: it has not the checksum"):
        load(copied)
    sums = (copied / "SHA256SUMS").read_text()
    for old, new in zip((*names, "x"), ("x", names[0], names[1]), strict=True):
        sums = sums.replace(old, new)
    (copied / "SHA256SUMS").write_text(sums)
    with pytest.raises(FolderError, match=r"seats/part-00002\.parquet is of other records"):
        load(copied)


def test_a_part_of_the_same_size_of_other_records_is_named(copied: Path, tmp_path: Path) -> None:
    assert run(*WORDS, "--seed", "1", "--out", str(tmp_path / "other")) == 0
    name = "seats/part-00001.parquet"
    Checksums(copied).write(name, (tmp_path / "other" / name).read_bytes())
    with pytest.raises(FolderError, match=r"seats/part-00001\.parquet is of other records"):
        load(copied)


def test_a_part_without_its_checksum_is_played_again(
    copied: Path, expected: dict[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = json.loads((copied / "manifest.json").read_text())
    Checksums(copied).write("manifest.json", json.dumps(manifest | {"rows": None}).encode())
    lines = (copied / "SHA256SUMS").read_text().splitlines(keepends=True)
    (copied / "SHA256SUMS").write_text("".join(line for line in lines if "rounds/part-00001" not in line))
    with pytest.raises(FolderError, match="has 3 of its 4 parts; simulate again"):
        load(copied)
    capsys.readouterr()
    assert run(*WORDS, "--out", str(copied)) == 0
    assert contents(copied) == expected
    said = capsys.readouterr().err
    assert f"warning: not all files of part-00001 in {copied} have a checksum in SHA256SUMS, so these games are" in said


def test_two_processes_in_one_folder(expected: dict[str, bytes], tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = [sys.executable, "-c", SLOWLY, "simulate", *WORDS, "--out", str(out)]
    first = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not (out / "manifest.json").exists():
        assert first.poll() is None
        time.sleep(0.01)
    second = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert second.returncode == cli.USAGE_ERROR
    assert second.stderr == (
        f"megaland: error: {out} is in use: another process works in it; wait until it has ended, or name another "
        "folder\n"
    )
    first.communicate(timeout=60)
    assert first.returncode == 0
    assert contents(out) == expected
    assert load(out).games.select(pl.len()).collect().item() == 24


@pytest.mark.parametrize("left", [0, 3, 12])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_full_disk_is_one_line_with_the_command_to_go_on(
    left: int, workers: str, expected: dict[str, bytes], tmp_path: Path, full_disk: Any,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    out = tmp_path / "run"
    if workers == "2":  # whose disk is full, too
        monkeypatch.setattr(simulation, "_begin_worker", _begin_on_a_full_disk)
    with full_disk(left + 2):  # after the manifest and its checksum
        assert run(*WORDS, "--workers", workers, "--out", str(out)) == cli.USAGE_ERROR
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith(f"megaland: error: {out}/")
    assert "No space left on device; what was played is kept; to go on: megaland simulate random threshold" in said
    assert said.endswith(f" --workers {workers}")
    monkeypatch.undo()  # the disk has space again
    assert cli.main(shlex.split(said.partition("to go on: megaland ")[2])) == 0
    assert contents(out) == expected


def _begin_on_a_full_disk(plan: Any, stored: Any) -> Any:
    def record(part: Any, under_way: Any) -> Any:
        raise OSError(28, "No space left on device", str(stored.checksums.path("games/x.parquet")))

    return record


def test_a_full_disk_at_the_very_beginning_leaves_nothing(
    tmp_path: Path, full_disk: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with full_disk(1):
        assert run(*WORDS, "--out", str(tmp_path / "run")) == cli.USAGE_ERROR
    assert "No space left on device" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_default_folder_takes_the_next_free_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (["--seed", "0"], ["--seed", "1"], ["--seed", "0"], ["--seed", "1"]):
        assert run("random", "--games", "2", "--players", "2", "--max-rounds", "2", *words) == 0
    shown = capsys.readouterr().out
    assert [line.rpartition(" ")[2] for line in shown.splitlines() if line.startswith("written")] == [
        "runs/records", "runs/records-2", "runs/records", "runs/records-2",
    ]  # fmt: skip
    assert shown.count("finished before") == 2


def test_parts_without_a_manifest_are_refused(copied: Path) -> None:
    (copied / "manifest.json").unlink()
    with pytest.raises(FolderError, match="does not hold records, but decisions"):
        simulation.simulate(["random"], copied, games=2)


def test_another_schema_is_refused(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records_folder, "SCHEMA_VERSION", 2)
    with pytest.raises(FolderError, match="holds records of schema 1; this version of megaland knows schema 2"):
        load(copied)
    assert run(*WORDS, "--out", str(copied)) == cli.USAGE_ERROR


def test_a_damaged_part_is_played_again_once_it_is_deleted(copied: Path, expected: dict[str, bytes]) -> None:
    part = copied / "decisions" / "part-00003.parquet"
    part.unlink()
    with pytest.raises(FolderError, match="has 3 of its 4 parts"):
        load(copied)
    assert run(*WORDS, "--out", str(copied)) == 0
    assert contents(copied) == expected


def test_what_the_screen_says(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*WORDS, "--out", str(copied)) == 0
    shown = capsys.readouterr().out
    assert "24 games in 4 parts" in shown
    assert f"written to {copied}" in shown
    assert [line.split()[:2] for line in shown.splitlines() if line.startswith("seats")] == [["seats", "60"]]


def test_words_without_meaning(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run("random", "--decisions", "some")
    assert "'some' is neither all nor a share from 0 to 1" in capsys.readouterr().err


def test_an_agent_error_reaches_the_caller(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="Illegal"):
        simulation.simulate(["tests.experiments.test_records:Illegal"], tmp_path, games=4)
