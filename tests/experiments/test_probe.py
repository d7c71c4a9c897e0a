"""The probe: its counts are right in hand-made states and in whole games, and its files are complete."""

from __future__ import annotations

import csv
import json
import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from megaland_agents.heuristics.threshold import ThresholdAgent
from megaland_agents.planning.run_solver import RunModel, solve
from megaland_env import Action, Decisions, Kind, LevelCard, MegalandConfig, MegalandGames
from megaland_env.agent import Agent, RandomAgent
from megaland_env.engine import rng
from megaland_experiments import cli
from megaland_experiments.matches.playing import AgentError, play
from megaland_experiments.probe import Probe, load_probe, probe, save_probe
from megaland_experiments.probe.decisions import Decided, DecisionRecorder
from megaland_experiments.probe.measures import UNDER_THE_CARD, damages, next_cards, token_worth, under_the_card, worths
from megaland_experiments.probe.saving import PROBE
from megaland_experiments.shared.run_folder import FolderError, Work, claim
from tests.support.tables import LEVEL_CARDS, seed_for, state

SHORT = MegalandConfig(num_players=3, max_rounds=4)


class Always:
    """Chooses the first of some actions that is legal, or else the first legal action."""

    def __init__(self, *actions: str) -> None:
        self.actions = [Action[action].value for action in actions]

    def act(self, decisions: Decisions) -> npt.NDArray[Any]:
        legal = decisions.legal
        chosen: npt.NDArray[np.int64] = legal.argmax(axis=1)
        for action in reversed(self.actions):
            chosen[legal[:, action]] = action
        return chosen


class Solver(Always):
    """Buys nothing, so that the simplest model applies to it, and stays or leaves by its solution."""

    def __init__(self) -> None:
        super().__init__("PASS")
        self.solution = solve(RunModel())

    def act(self, decisions: Decisions) -> npt.NDArray[Any]:
        view = decisions.view
        where = view.unseen @ (1 << np.arange(10)), view.hearts[:, 0], 0, view.carried[:, 0].sum(axis=1)
        stays = self.solution.stay[where] > self.solution.leave[where[2:]] + 1e-9
        running = decisions.kind == Kind.RUN
        return np.where(running, np.where(stays, Action["STAY"], Action["LEAVE"]), super().act(decisions))


PICTURES = ("leaving", "purchases", "choices")


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave pictures empty where they are not checked, because drawing takes seconds."""
    monkeypatch.setattr("megaland_experiments.shared.result_files.png", lambda figure: b"")
    monkeypatch.setattr(
        "megaland_experiments.probe.saving.figures", lambda result: dict.fromkeys(PICTURES, lambda: None)
    )


def summary(result: Probe) -> dict[str, Any]:
    return {row["measure"]: row["value"] for row in result.summary}


# ------------------------------------------------------------------------------------------------------ states by hand


def decided(agent: Any, player: dict[str, Any], unseen: str, decision: str = "run") -> Decided:
    """The decisions of the agent in a state in which only the cards ``unseen`` are left."""
    seen = [card for card in LEVEL_CARDS if card not in unseen.split(", ")]
    others = {"in_level": False, "home": {"stone": 1}}
    games = MegalandGames.restore([state([player, others], decision, seen=seen, seed=0)])
    recorder = DecisionRecorder(agent)
    recorder.act(games.decisions())
    return recorder.decided()


@pytest.mark.parametrize(
    ("player", "unseen", "stay", "leave"),
    [
        ({"hearts": 1, "carried": {"egg": 2}}, "Clouds", 3, 2),
        ({"hearts": 1, "carried": {"egg": 2}}, "Bats", 0, 2),
        ({"hearts": 1, "carried": {"egg": 1}}, "Clouds, Bats", 1, 1),
        ({"hearts": 1, "carried": {"egg": 3}}, "Clouds, Bats", 2, 3),
        ({"hearts": 3, "carried": {"egg": 1, "fish": 2}}, "Clouds, Bats", 5, 3),
        ({"hearts": 1, "carried": {"egg": 2}}, "Sludge Creature", 0, 2),
        ({"hearts": 1, "carried": {"egg": 2}, "buildings": {"Soap Makers": 2}}, "Sludge Creature", 4, 2),
        ({"hearts": 1, "carried": {"egg": 3}, "buildings": {"Herb Hut": 1}}, "Clouds, Bats", 2.5, 3),
        ({"hearts": 1, "carried": {"egg": 3}, "buildings": {"Herb Hut": 2}}, "Bats", 2, 3),
        ({"hearts": 1, "carried": {"egg": 3}, "buildings": {"Laboratory": 1}}, "Clouds, Bats", 2.5, 3),
        ({"hearts": 1, "carried": {"egg": 4}, "buildings": {"Bazaar of Oddities": 1}}, "Clouds, Bats", 3, 4),
        ({"hearts": 1, "carried": {"egg": 5}, "buildings": {"Bazaar of Oddities": 2}}, "Clouds", 8, 7),
        ({"hearts": 1, "carried": {"egg": 3}, "buildings": {"Temple of Zoz": 1}}, "Clouds, Red Serpent", 3, 3),
    ],
)
def test_staying_and_leaving_by_hand(player: dict[str, Any], unseen: str, stay: float, leave: float) -> None:
    """L4 to L11: the value of each choice and the loss by the other one, 0 if both are equal."""
    for action, worth in (("STAY", stay), ("LEAVE", leave)):
        found = worths(decided(Always(action), player, unseen))
        best = max(stay, leave)
        assert (found.dare[0], found.care[0], found.chosen[0]) == pytest.approx((stay, leave, worth))
        assert found.loss[0] == pytest.approx(best - worth)
        assert found.optimal[0] == (worth == best)
        assert found.cares[0] == (leave >= stay)


@pytest.mark.parametrize(
    ("hearts", "unseen", "walk", "jump"),
    [
        (1, "Clouds", 3, 3),
        (1, "Rabbit", 0, 3),
        (1, "Bats", 0, 0),
        (2, "Rabbit", 3, 3),  # a heart is worth nothing any more
    ],
)
@pytest.mark.parametrize("tokens", [1, 4, 9])
def test_jumping_by_hand(hearts: int, unseen: str, walk: float, jump: float, tokens: int) -> None:
    """L2: in addition to the treasures, up to four tokens have a value."""
    walk, jump = (worth + token_worth() * min(left, 4) for worth, left in ((walk, tokens), (jump, min(tokens, 4) - 1)))
    for action, worth in (("PASS", walk), ("JUMP", jump)):
        player = {"hearts": hearts, "jumps": tokens, "carried": {"egg": 3}}
        found = worths(decided(Always(action), player, unseen, "jump"))
        assert (found.dare[0], found.care[0], found.chosen[0]) == pytest.approx((walk, jump, worth))
        assert found.loss[0] == pytest.approx(max(walk, jump) - worth)
        assert found.cares[0] == (jump > walk)


@pytest.mark.parametrize(
    ("hearts", "unseen", "buildings", "what"),
    [
        (2, "Biting Plant", {}, "averts a fall"),
        (3, "Biting Plant", {}, "saves hearts"),
        (1, "Clouds", {}, "harmless card"),
        (1, "Sludge Creature", {"Soap Makers": 1}, "harmless card"),
        (1, "Sludge Creature", {}, "averts a fall"),
        (1, "Floating Eye", {}, "no jump symbol"),
        (4, "Bats", {}, "no jump symbol"),
    ],
)
def test_what_a_jump_does(hearts: int, unseen: str, buildings: dict[str, int], what: str) -> None:
    """L5: the effects of a jump, stated by hand."""
    made = decided(Always("JUMP"), {"hearts": hearts, "jumps": 1, "buildings": buildings}, unseen, "jump")
    cards = next_cards(made, np.zeros(1, np.uint64))
    assert [UNDER_THE_CARD[number] for number in under_the_card(made, cards)] == [what]


def test_the_worth_of_a_token() -> None:
    assert token_worth() == pytest.approx(77977 / 25200 - 29 / 12)


def test_the_cards_that_come_and_what_they_do() -> None:
    """L3, L5: the cards and the damage agree with the engine."""
    reveals = ["Red Serpent", "Clouds", "Sludge Creature"]
    players: list[dict[str, Any]] = [{"max_hearts": 8, "buildings": {"Soap Makers": 1}}, {"max_hearts": 8}]
    seed = seed_for(reveals, ["Spires"], 3)
    games = MegalandGames.restore([state(players, seen=["Spires"], seed=seed, round_number=3)])
    recorder = DecisionRecorder(Always("STAY"))
    hurts = []
    for name in reveals:
        hearts = games.decisions().view.hearts[:, 0].astype(int)
        games.step(games.scatter(games.decisions(), recorder.act(games.decisions())))
        made = recorder.decided()
        cards = next_cards(made, games.seeds)
        assert [LevelCard(card).label for card in cards] == [name] * 2
        assert games.decisions().view.level_card.tolist() == cards.tolist()
        hurts.append(damages(made, cards).tolist())
        assert hurts[-1] == (hearts - games.decisions().view.hearts[:, 0]).tolist()
    assert hurts == [[3, 3], [0, 0], [0, 1]]


# ------------------------------------------------------------------------------------------------------ whole games


def test_the_solver_loses_nothing() -> None:
    result = probe(Solver(), games=40, config=SHORT)
    found = summary(result)
    assert (found["optimal_share"], found["loss_per_decision"], found["loss_per_run"]) == (1, 0, 0)
    assert found["leave_share"] == found["solver_leave_share"]
    assert all(row["leave_share"] == row["solver_leave_share"] for row in result.leaving)
    assert found["runs"] == 40 * 3 * 4  # nobody buys, so all rounds are played
    assert found["jump_decisions"] == 0
    assert found["turns_passed_with_something_affordable"] == 1
    assert sum(row["passes_at_once"] for row in result.turns) == sum(row["able"] for row in result.turns)


def test_who_always_leaves_or_stays() -> None:
    """An agent that always leaves never falls; one that always stays falls in every run."""
    home, far = (summary(probe(Always(action, "PASS"), games=40, config=SHORT)) for action in ("LEAVE", "STAY"))
    assert (home["leave_share"], home["falls_per_run"]) == (1, 0)
    assert home["stay_or_leave_decisions"] == home["runs"] == 480
    assert far["leave_share"] == 0
    assert far["carried_when_leaving"] is None
    assert far["falls_per_run"] == 1  # there are ten skulls, and four hearts
    for found in (home, far):
        assert found["optimal_share"] < 1
        assert found["loss_per_run"] > 0


@pytest.fixture(scope="module")
def both() -> tuple[Probe, dict[str, Counter[Any]]]:
    """A probe of ``threshold`` against ``random``, and the same counts from the log of the engine."""
    config = MegalandConfig(num_players=3, max_rounds=8)
    result = probe(ThresholdAgent(), "random", games=60, config=config, seed=5)
    seats = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]] * 20)
    counts: dict[str, Counter[Any]] = {name: Counter() for name in ("events", "bought", "paid")}
    agents: list[Agent] = [ThresholdAgent(), RandomAgent()]
    seeds = np.repeat(rng.mix(5, rng.Purpose.EPISODE, seat=255, count=np.arange(20)), 3)
    games = MegalandGames(config, 60, record=True)
    games.reset(seeds)
    while (games.kind != Kind.NONE).any():
        decisions = games.decisions()
        owner = seats[decisions.game, decisions.seat]
        actions = np.zeros(len(decisions), int)
        for number, agent in enumerate(agents):
            rows = np.flatnonzero(owner == number)
            if rows.size:
                actions[rows] = agent.act(decisions[rows])
        mine = owner == 0
        counts["paid"].update(actions[mine & (decisions.kind == Kind.PAY)].tolist())
        games.step(games.scatter(decisions, actions))
    for game in range(60):
        seat = int(np.flatnonzero(seats[game] == 0)[0])
        number = 0
        for event in games.events(game):
            if event["event"] == "round":
                number += 1
            if event.get("seat") != seat:
                continue
            counts["events"][event["event"]] += 1
            if event["event"] == "buy":
                counts["bought"][number, event["building"]] += 1
            elif event["event"] == "heart":
                counts["bought"][number, "heart"] += 1
    counts["events"]["runs"] = int(games.rounds.sum())
    return result, counts


def test_the_counts_are_those_of_the_log(both: tuple[Probe, dict[str, Counter[Any]]]) -> None:
    """Falls, jumps, trades and purchases agree with those counted from the log."""
    result, counts = both
    found = summary(result)
    events = counts["events"]
    assert found["runs"] == events["runs"]
    assert found["falls_per_run"] * found["runs"] == pytest.approx(events["fall"])
    assert events["fall"] > 20
    assert sum(row["jumps"] for row in result.jumps) == events["jump"] > 10
    assert sum(row["jumped"] for row in result.tokens) == events["jump"]
    assert sum(row["jumped"] + row["walked"] for row in result.tokens) == found["jump_decisions"]
    assert sum(row["trades"] for row in result.trades) == events["trade"] > 0
    bought = {(row["round"], row["item"]): row["bought"] for row in result.purchases if row["bought"]}
    assert bought == counts["bought"]
    paid = {row["treasure"]: row["chosen"] for row in result.treasures if row["choice"] == "pay"}
    assert {name: paid[name] for name in paid if paid[name]} == {
        Action(action).name.removeprefix("TREASURE_").lower(): number for action, number in counts["paid"].items()
    }


def test_shares_follow_from_the_counts(both: tuple[Probe, dict[str, Counter[Any]]]) -> None:
    result, _ = both
    found = summary(result)
    for table in (result.leaving, result.leaving_by_danger, result.leaving_by_carried):
        number = sum(row["decisions"] for row in table)
        assert number == found["stay_or_leave_decisions"]
        for of_table, of_all in (("leave_share", "leave_share"), ("loss", "loss_per_decision")):
            assert sum(row["decisions"] * row[of_table] for row in table) / number == pytest.approx(found[of_all])
    first = [row for row in result.turns if row["round"] == 1]
    assert [row["turns"] for row in first] == [60]
    stars = [row["turns"] for row in result.purchases if row["round"] == 1 and row["item"] in ("Cafe", "heart")]
    assert stars == [60, 60]
    on_offer = sum(row["turns"] for row in result.purchases if row["round"] == 1)
    assert on_offer == 60 * (1 + 6 + 7)
    for choice in ("pay", "store", "herb_hut", "reptile"):
        rows_of = [row for row in result.treasures if row["choice"] == choice]
        chosen, decisions = sum(row["chosen"] for row in rows_of), rows_of[0]["decisions"]
        assert chosen <= decisions if choice == "reptile" else chosen == decisions  # only a swap can be passed
        assert all(row["chosen"] <= row["offered"] <= row["decisions"] == decisions for row in rows_of)
        assert all(decisions == 0 or row["held"] * decisions >= row["offered"] - 1e-9 for row in rows_of)
    for row in result.turns:
        assert row["turns"] >= row["able"] >= row["bought"]
        assert row["passes"] >= row["passes_at_once"] == row["able"] - row["bought"]
    rows = {row["measure"]: row for row in result.summary}
    for name in ("optimal_share", "loss_per_run", "falls_per_run"):
        assert rows[name]["low"] < rows[name]["value"] < rows[name]["high"]


def test_the_recorder_plays_as_the_agent_does() -> None:
    line_ups = np.zeros((6, 3), int)
    plain = play(SHORT, [RandomAgent(3)], line_ups, np.arange(6))
    recorder = DecisionRecorder(RandomAgent(3))
    recorded = play(SHORT, [recorder], line_ups, np.arange(6))
    assert np.array_equal(plain.coins, recorded.coins)
    assert len(recorder.decided()) == plain.decisions.sum()


class _Untidy:
    """Plays at random, returns the same array every time, and writes into the arrays of its decisions."""

    def __init__(self) -> None:
        self._answers = np.zeros(1000, np.uint8)

    def act(self, decisions: Decisions) -> npt.NDArray[Any]:
        answers = self._answers[: len(decisions)]
        answers[:] = RandomAgent().act(decisions)
        decisions.kind[:] = Kind.NONE
        decisions.view.carried[:] = 0
        return answers


def test_an_untidy_agent_is_recorded_as_a_tidy_one_is() -> None:
    untidy, tidy = (probe(agent, games=6, config=SHORT) for agent in (_Untidy(), RandomAgent()))
    assert untidy.tables() == tidy.tables()


def test_games_in_parts_count_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int]] = []
    whole = probe("threshold", "random", games=18, config=SHORT)
    monkeypatch.setattr("megaland_experiments.probe.command.MOST_AT_ONCE", 7)
    parts = probe("threshold", "random", games=18, config=SHORT, progress=lambda *counts: told.append(counts))
    assert whole.tables().keys() == parts.tables().keys()
    for name, rows in whole.tables().items():
        for one, other in zip(rows, parts.tables()[name], strict=True):
            assert one == pytest.approx(other)
    assert told == sorted(told)
    assert told[-1] == (18, 18)


def test_itself_plays_each_seed_once() -> None:
    result = probe("random", games=5, config=SHORT)
    assert result.settings["games"] == 5
    assert result.settings["opponents"] == ["itself"]
    assert summary(result)["runs"] == 5 * 3 * 4
    assert probe("random", "random:seed=1", games=5, config=SHORT).settings["games"] == 6


def test_a_single_seed_has_no_interval() -> None:
    (row,) = (row for row in probe("random", games=1, config=SHORT).summary if row["measure"] == "optimal_share")
    assert (row["low"], row["high"]) == (None, None)


# ------------------------------------------------------------------------------------------------------ files, command


def test_the_files(both: tuple[Probe, dict[str, Counter[Any]]], tmp_path: Path) -> None:
    result, _ = both
    files = save_probe(result, tmp_path / "a" / "b")
    there = {file.name for file in (tmp_path / "a" / "b").iterdir()}
    assert {file.name for file in files} | {"settings.json", "SHA256SUMS", ".lock"} == there
    written = json.loads(files[0].read_text())
    assert written == json.loads(json.dumps(result.to_dict()))
    for name, rows in result.tables().items():
        with (tmp_path / "a" / "b" / f"{name}.csv").open(newline="") as file:
            read = list(csv.DictReader(file))
        assert read == [{key: "" if value is None else str(value) for key, value in row.items()} for row in rows]
    pictures = [file.read_bytes() for file in files if file.suffix == ".png"]
    assert len(pictures) == 3
    for picture in pictures:
        assert picture.startswith(b"\x89PNG")
        assert picture.endswith(b"IEND\xaeB`\x82")
        assert len(picture) > 20_000


@pytest.mark.usefixtures("no_pictures")
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["probe", "planner", "--opponents", "random", "--players", "2", "--games", "6", "--max-rounds", "3"]
    assert cli.main([*words, "--out", str(tmp_path / "out")]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "planner, 2 players, against random" in out
    assert "not a verdict" in out
    written = json.loads((tmp_path / "out" / "probe.json").read_text())
    expected = probe("planner", "random", games=6, config=MegalandConfig(num_players=2, max_rounds=3))
    assert written == json.loads(json.dumps(expected.to_dict()))
    values = {row["measure"]: row["value"] for row in written["summary"]}
    assert f"{100 * values['optimal_share']:.1f} %" in out


WORDS = ["probe", "planner", "--players", "2", "--games", "6", "--max-rounds", "3"]


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.usefixtures("no_pictures")
def test_another_agent_in_a_named_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert cli.main([*WORDS, "--out", str(out)]) == 0
    before = contents(out)
    capsys.readouterr()
    assert cli.main(["probe", "random", *WORDS[2:], "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert f'{out} holds a probe with other settings: agent is "planner" there and "random" here' in said
    assert "name another folder, or delete this one" in said
    assert contents(out) == before


@pytest.mark.usefixtures("no_pictures")
def test_the_default_folder_takes_the_next_free_name_and_what_is_finished_is_shown_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(WORDS) == 0
    shown = capsys.readouterr().out
    assert cli.main([WORDS[0], "random", *WORDS[2:]]) == 0
    out, err = capsys.readouterr()
    assert "written to runs/probe-2: probe.json" in out
    assert err.endswith("so this goes to runs/probe-2\n")
    monkeypatch.setattr("megaland_experiments.probe.command.play", None)
    Path("runs/probe/jumps.csv").unlink()
    assert cli.main(WORDS) == 0
    again = capsys.readouterr().out
    assert "finished before: nothing was played" in again
    assert again.splitlines()[:30] == shown.splitlines()[:30]
    assert Path("runs/probe/jumps.csv").exists()
    assert load_probe("runs/probe").settings["agent"] == "planner"


@pytest.mark.usefixtures("no_pictures")
def test_any_damage_is_named(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert cli.main([*WORDS, "--out", str(out)]) == 0
    work = Work(PROBE, load_probe(out).settings)
    for name in ("probe.json", "settings.json", "summary.csv"):
        good = (out / name).read_bytes()
        flips = [good[:k] + bytes([good[k] ^ 4]) + good[k + 1 :] for k in range(0, len(good), 1 + len(good) // 30)]
        for bad in (b"", b"[" * 100_000, good[:-5], b"{}", *flips):
            (out / name).write_bytes(bad)
            with pytest.raises(FolderError, match=name):
                claim(work, out).__enter__()
            if not name.endswith(".csv"):
                with pytest.raises(FolderError, match=name):
                    load_probe(out)
        (out / name).write_bytes(good)


@pytest.mark.usefixtures("no_pictures")
def test_results_are_not_saved_over_others(tmp_path: Path) -> None:
    one, other = (probe(RandomAgent(seed), games=4, config=SHORT) for seed in (0, 1))
    save_probe(one, tmp_path)
    save_probe(one, tmp_path)
    with pytest.raises(FolderError, match="holds other results of the same settings"):
        save_probe(other, tmp_path)
    assert load_probe(tmp_path).tables() == json.loads(json.dumps(one.tables()))


def test_a_missing_extra_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert cli.main([*WORDS, "--out", str(tmp_path / "out")]) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("no_pictures")
def test_a_full_disk_is_one_line_and_the_tables_are_shown(
    tmp_path: Path, full_disk: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    with full_disk(3):
        assert cli.main([*WORDS, "--out", str(out)]) == 2
    shown, said = capsys.readouterr()
    assert "not a verdict" in shown
    assert said.startswith(
        f"megaland: error: {out / 'probe.json'}: No space left on device; to go on: megaland probe pl"
    )
    assert len(said.splitlines()) == 1
    assert cli.main(shlex.split(said.partition("to go on: megaland ")[2])) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nobody"], "there is no agent 'nobody'"),
        (["random", "--opponents", "random,nobody"], "there are 2 opponents; a table of 4 needs one for all, or 3"),
        (["random", "--opponents", "nobody"], "there is no agent 'nobody'"),
        (["random", "--players", "6"], "num_players"),
        (["random", "--games", "0"], "games is 0; it must be a whole number from 1"),
    ],
)
def test_bad_input(words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["probe", *words, "--out", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("mine")
    for name in ("file", "file/below"):
        assert cli.main(["probe", "random", "--out", str(tmp_path / name)]) == 2
        assert "is not a folder" in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "mine"


def test_an_agent_that_fails_is_named() -> None:
    with pytest.raises(AgentError, match=r"'_Jumper' chose action 3 \(JUMP\), which is not legal"):
        probe(_Jumper(), games=2, config=SHORT)


class _Jumper(Always):
    def act(self, decisions: Decisions) -> npt.NDArray[Any]:
        return np.full(len(decisions), Action["JUMP"])
