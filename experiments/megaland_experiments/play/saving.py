"""Saving the replay of a game that a person has played."""

from __future__ import annotations

from pathlib import Path

from megaland_env.outside_text import printable
from megaland_env.replay import save_replay
from megaland_experiments.play.match import Match
from megaland_experiments.play.terminal import Terminal
from megaland_experiments.shared.output import check_writable

NOT_WRITTEN = 2  # the exit status, as for any file that cannot be written


class ReplaySaver:
    """Saves the replay of a game to the file that the person named, or to a free default name.

    Args:
        path: file named with ``--replay``. If it is given, every game is saved, at whatever point it ends.
        terminal: terminal of the person.
    """

    def __init__(self, path: str | None, terminal: Terminal) -> None:
        if path is not None:
            check_writable(path)
        self._named = None if path is None else Path(path)
        self._written: list[Path] = []
        self._saved: Match | None = None
        self._steps_saved = -1
        self._terminal = terminal

    @property
    def always(self) -> bool:
        """Whether every game is saved without a question."""
        return self._named is not None

    def has(self, match: Match) -> bool:
        """Whether the game is saved up to now."""
        return self._saved is match and self._steps_saved == int(match.games.steps[0])

    def path_for(self, match: Match) -> Path:
        """The path to which the game would be saved."""
        if self._named is None:
            return _free(Path(f"megaland-{match.seed}.json"))
        return _free(self._named) if self._named in self._written else self._named  # a rematch has a file of its own

    def save(self, match: Match) -> None:
        """Save the game, unless it is saved already.

        Raises:
            OSError: the file cannot be written.
        """
        if self.has(match):
            return
        path = self.path_for(match)
        save_replay(path, match.replay())
        self._written.append(path)
        self._saved, self._steps_saved = match, int(match.games.steps[0])
        shown = printable(path)
        self._terminal.say(f"The game is saved in {shown}.\nSee it again with: megaland watch {shown}")

    def try_to_save(self, match: Match, why: str = "") -> None:
        """Save the game, or say that it cannot be saved; say first why the game ended early, if it did."""
        try:
            if why:
                self._terminal.say(f"{why} in round {match.games.rounds[0]}.")
            self.save(match)
        except OSError as error:
            reason = f"{error.filename or self.path_for(match)}: {error.strerror or error}"
            self._terminal.say(f"The game cannot be saved: {printable(reason)}")

    def say_if_lost(self, match: Match) -> None:
        """Tell the person if the game is not saved, and how to save it."""
        if not self.has(match):
            how = "" if self.always else " With --replay FILE it is, wherever it ends."
            self._terminal.say(f"The game is not saved.{how}")

    def status(self, match: Match) -> int:
        """The exit status: 2 if ``--replay`` was given and the game could not be saved."""
        return NOT_WRITTEN if self.always and not self.has(match) else 0


def _free(path: Path) -> Path:
    """The path, or the first free path with a number after its name."""
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return free
