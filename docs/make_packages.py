"""Draws ``docs/packages.svg``, the packages and what each imports: ``python docs/make_packages.py``."""

from pathlib import Path
from xml.sax.saxutils import escape

WIDTH = 640
FONT = "font-family='system-ui, sans-serif'"
LAYERS = [
    ("experiments", "#fbe3d0", ["the command megaland", "training", "arena", "records", "analysis", "play"]),
    ("agents", "#dcebd3", ["heuristics", "planning", "trained policies"]),
    ("environments and rendering", "#d3e4f3", ["Gymnasium", "PettingZoo", "Stable-Baselines3", "text", "pictures"]),
    ("seats", "#d3e4f3", ["opponents", "slots", "one learner", "self-play", "small tasks"]),
    ("games", "#d3e4f3", ["MegalandGames", "Decisions", "observations", "rewards", "replays"]),
    ("engine", "#d3e4f3", ["state", "rules", "randomness", "events"]),
    ("vocabulary", "#d3e4f3", ["cards", "actions", "configuration"]),
]
BRACKET = (2, 6, "megaland_env")
"""First and last layer of the package ``megaland_env``, and its name."""

HEIGHT_OF_LAYER, GAP, TOP, LEFT = 64, 22, 14, 110


def top_of(layer: int) -> int:
    """The upper edge of a layer."""
    return TOP + layer * (HEIGHT_OF_LAYER + GAP)


def picture() -> str:
    """The whole drawing."""
    height = top_of(len(LAYERS)) - GAP + TOP
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' role='img' {FONT}>",
        "<title>The packages: each layer imports only from the layers below it</title>",
        f"<rect width='{WIDTH}' height='{height}' rx='10' fill='#ffffff'/>",
    ]
    wide = WIDTH - LEFT - 14
    middle = LEFT + wide // 2
    for number, (name, colour, contents) in enumerate(LAYERS):
        y = top_of(number)
        parts += [
            f"<rect x='{LEFT}' y='{y}' width='{wide}' height='{HEIGHT_OF_LAYER}' rx='8' fill='{colour}' "
            "stroke='#555'/>",
            f"<text x='{middle}' y='{y + 27}' font-size='18' font-weight='600' text-anchor='middle' fill='#222'>"
            f"{escape(name)}</text>",
            f"<text x='{middle}' y='{y + 49}' font-size='14' text-anchor='middle' fill='#333'>"
            f"{escape(' · '.join(contents))}</text>",
        ]
        if number < len(LAYERS) - 1:
            bottom = y + HEIGHT_OF_LAYER
            parts.append(
                f"<path d='M{middle} {bottom + 3} v{GAP - 9} m-5 -6 l5 7 l5 -7' fill='none' stroke='#333' "
                "stroke-width='1.8'/>"
            )
    first, last, name = BRACKET
    upper, lower = top_of(first), top_of(last) + HEIGHT_OF_LAYER
    parts += [
        f"<path d='M{LEFT - 8} {upper} h-10 V{lower} h10' fill='none' stroke='#333' stroke-width='1.8'/>",
        f"<text transform='translate({LEFT - 34} {(upper + lower) // 2}) rotate(-90)' font-size='18' "
        f"font-weight='600' text-anchor='middle' fill='#222'>{name}</text>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("packages.svg").write_text(picture(), encoding="utf-8")
