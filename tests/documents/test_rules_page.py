"""The page of the rules says what the engine plays: its tables are those of ``megaland_env.cards``."""

from __future__ import annotations

import re

from megaland_env import cards
from megaland_env.cards import BUILDINGS, LEVEL_CARDS, NORMAL_BUILDINGS, STAR_BUILDINGS, Building, LevelCard, Treasure
from megaland_env.config import MegalandConfig
from tests.support.places import ROOT

PAGE = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
ORDINALS = {5: "5th", 6: "6th", 7: "7th", 8: "8th"}
NUMBERS_OF_LASTING_EFFECTS = {
    Building.ARCADE: [cards.ARCADE_COINS],
    Building.BAZAAR_OF_ODDITIES: [cards.BAZAAR_TREASURES, cards.BAZAAR_COINS],
    Building.HOTEL: [cards.HOTEL_COINS],
    Building.TEMPLE_OF_ZOZ: [cards.TEMPLE_COINS],
    Building.HERB_HUT: [1],
    Building.REPTILE_STABLE: [1, 1],
    Building.HOSPITAL: [cards.HOSPITAL_COINS],
    Building.OSTRICH_RANCH: [],
    Building.BOWLING_ALLEY: [cards.MOON_COINS[Building.BOWLING_ALLEY]],
    Building.FISH_VENDOR: [],
    Building.SMITHY: [*cards.SMITHY_COSTS, cards.SMITHY_COINS],
    Building.FISHING_POND: [1],
    Building.SOAP_MAKERS: [1],
    Building.HALL_OF_ELDERS: [cards.HALL_COINS],
    Building.TOLL_BOOTH: [cards.TOLL_COINS],
    Building.LABORATORY: [1],
    Building.LODGE: [cards.MOON_COINS[Building.LODGE]],
    Building.ROOT_MARKET: [],
    Building.ENDLESS_MINE: [cards.MOON_COINS[Building.ENDLESS_MINE]],
}
"""The numbers in the words of each lasting effect, in their order; no entry: no lasting effect."""


def rows_of_table(first_column: str) -> list[list[str]]:
    """The cells of the only table whose first column has that heading."""
    (table,) = re.findall(rf"^\| {re.escape(first_column)} \|.*\n\|[-|]+\n((?:\|.*\n)+)", PAGE, flags=re.MULTILINE)
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()]


def counted(number: int, what: str) -> str:
    return f"{number} {what}" + "s" * (number != 1)


def test_the_table_of_treasures() -> None:
    expected = [
        [treasure.name.title(), str(copies)] for treasure, copies in zip(Treasure, cards.TREASURE_COPIES, strict=True)
    ]
    assert rows_of_table("treasure") == expected
    assert f"has {cards.TREASURES_IN_ALL} cards" in PAGE


def test_the_table_of_level_cards() -> None:
    expected = [
        [card.label, str(facts.skulls), ("no", "yes")[facts.jump_symbol]] for card, facts in LEVEL_CARDS.items()
    ]
    rows = rows_of_table("level card")
    assert [row[:3] for row in rows] == expected
    special = {LevelCard.TREASURE_BOX, LevelCard.RABBIT, LevelCard.SLUDGE_CREATURE, LevelCard.RED_SERPENT}
    assert {row[0] for row in rows if row[3]} == {card.label for card in special}
    assert f"trade {cards.RABBIT_CARROTS} carrots for {cards.RABBIT_CARROTS} " in rows[LevelCard.RABBIT][3]


def test_the_table_of_heart_prices() -> None:
    assert rows_of_table("heart") == [[ORDINALS[heart], str(price)] for heart, price in cards.HEART_COSTS.items()]
    for sentence in (
        f"starts with {cards.START_HEARTS} hearts",
        f"at most {cards.MAX_HEARTS}.",
        f"{cards.HEART_SUPPLY} heart tokens in all",
        f"{cards.JUMP_SUPPLY} jump tokens",
        f"has {cards.WINNING_COINS} coins or more",
        f"(default {MegalandConfig().max_rounds})",
    ):
        assert sentence in PAGE


def test_the_tables_of_buildings() -> None:
    rows = [*rows_of_table("star building"), *rows_of_table("normal building")]
    copies = [*cards.STAR_COPIES, *[cards.NORMAL_COPIES] * len(NORMAL_BUILDINGS)]
    assert [row[0] for row in rows] == [building.label for building in (*STAR_BUILDINGS, *NORMAL_BUILDINGS)]
    for building, number, row in zip(Building, copies, rows, strict=True):
        facts = BUILDINGS[building]
        gains = [counted(facts.coins, "coin")] * bool(facts.coins) + [counted(facts.jumps, "jump token")] * bool(
            facts.jumps
        )
        assert row[1:4] == [str(facts.cost), str(number), ", ".join(gains)], building
        lasting = re.sub(r"\(\[.*?\]\(.*?\)\)", "", row[4])  # without the link to the rule
        assert bool(lasting) == (building in NUMBERS_OF_LASTING_EFFECTS), building
        assert [int(n) for n in re.findall(r"\d+", lasting)] == NUMBERS_OF_LASTING_EFFECTS.get(building, []), building


def test_every_ruling_is_listed_with_its_reason() -> None:
    """A rule that is marked as a ruling is in the last table; L7 is there for a half-sentence of its own."""
    marked = re.findall(
        r"^\(rule-(\w+)\)=\n((?:(?!\(rule-).*\n)*)", PAGE[: PAGE.index("(rulings)=")], flags=re.MULTILINE
    )
    with_ruling = {rule for rule, text in marked if "**Ruling:**" in text}
    rows = rows_of_table("rule")
    listed = {rule for row in rows for rule in re.findall(r"\[(\w+)\]", row[0])}
    assert listed == with_ruling | {"L7"}
    assert all(len(row) == 3 and all(row) for row in rows)


def test_a_link_to_a_rule_says_where_it_goes() -> None:
    links = re.findall(r"\[(\w+)\]\(#rule-(\w+)\)", PAGE)
    assert len(links) > 20
    assert [(text, target) for text, target in links if text.lower() != target] == []
