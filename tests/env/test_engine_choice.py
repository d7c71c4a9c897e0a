"""Which engine plays, and where compiled code is kept."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from megaland_env import MegalandGames, extras, megaland_v0
from megaland_env.engine import choice
from megaland_env.engine.choice import ENGINES, plays_compiled
from megaland_env.engine.compiled import cache
from megaland_env.engine.compiled.cache import CacheError, Program
from megaland_env.engine.compiled.programs import PROGRAMS
from megaland_env.envs.gymnasium_env import MegalandEnv
from megaland_env.envs.gymnasium_vector import MegalandVectorEnv
from megaland_env.envs.multi_agent_vector import MegalandMultiAgentVectorEnv

needs_numba = pytest.mark.skipif(not extras.is_installed("numba"), reason="Numba is not installed")
TINY = Program("tiny", "tests.support.tiny_program", "double", "a test")


@pytest.fixture
def no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEGALAND_ENGINE")


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache directory of its own, in which nothing is compiled."""
    caches = (cache.folder, cache._load, cache.suggest_warm_up)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    loaded = set(cache._loaded)
    for each in caches:
        each.cache_clear()
    cache._loaded.clear()
    sys.modules.pop(TINY.module, None)
    yield tmp_path
    for each in caches:
        each.cache_clear()
    cache._loaded.clear()
    cache._loaded.update(loaded)


# ------------------------------------------------------------------------------------------------ which one plays


@needs_numba
@pytest.mark.usefixtures("no_variable")
@pytest.mark.parametrize("cached", [False, True])
def test_auto_takes_compiled_code_that_is_ready(
    cached: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If it is not, one line says once what to do; nobody waits."""
    cache.suggest_warm_up.cache_clear()
    monkeypatch.setattr(Program, "is_cached", lambda program: cached)
    assert [plays_compiled("auto") for _ in range(3)] == [cached] * 3
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("megaland warm-up") == (0 if cached else 1) == told.err.count("\n")


@pytest.mark.usefixtures("no_variable")
def test_auto_without_numba_is_numpy(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(choice, "is_installed", lambda library: False)
    assert not plays_compiled("auto")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("variable", ["numpy", "compiled"])
def test_the_variable_is_the_default_and_an_argument_beats_it(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEGALAND_ENGINE", variable)
    assert plays_compiled("auto") == (variable == "compiled")
    assert plays_compiled("compiled")
    assert not plays_compiled("numpy")


def test_an_empty_variable_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEGALAND_ENGINE", "")
    monkeypatch.setattr(choice, "is_installed", lambda library: False)
    assert not plays_compiled("auto")


def test_unknown_engines_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"engine is 'numba'; it must be one of \('auto', 'numpy', 'compiled'\)"):
        MegalandGames(engine="numba")
    monkeypatch.setenv("MEGALAND_ENGINE", "fast")
    with pytest.raises(ValueError, match="the environment variable MEGALAND_ENGINE is 'fast'; it must be one of"):
        MegalandGames()
    assert MegalandGames(engine="numpy").engine == "numpy"


@needs_numba
@pytest.mark.parametrize("engine", ["numpy", "compiled"])
@pytest.mark.parametrize(
    "make",
    [
        lambda engine: MegalandGames(engine=engine),
        lambda engine: MegalandEnv(engine=engine).games.games,
        lambda engine: MegalandVectorEnv(2, engine=engine).games.games,
        lambda engine: MegalandMultiAgentVectorEnv(2, engine=engine).games,
        lambda engine: megaland_v0.env(engine=engine).unwrapped.games,
        lambda engine: megaland_v0.parallel_env(engine=engine).unwrapped.games,
    ],
)
def test_every_environment_takes_an_engine(engine: str, make: Callable[[str], MegalandGames]) -> None:
    assert make(engine).engine == engine


def test_compiled_without_numba_says_what_to_install() -> None:
    script = (
        "import sys; sys.modules['numba'] = None\n"
        "from megaland_env import MegalandGames\n"
        "assert MegalandGames().engine == 'numpy'\n"
        "MegalandGames(engine='compiled')"
    )
    environment = {**os.environ, "MEGALAND_ENGINE": "auto"}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, env=environment, timeout=60
    )
    assert done.stderr.splitlines()[-1].startswith(
        'ModuleNotFoundError: engine="compiled" needs numba, which is not installed: pip install'
    )


# ------------------------------------------------------------------------------------------------ the cache


@needs_numba
def test_code_is_compiled_once_into_a_private_folder(empty_cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not TINY.is_cached()
    assert TINY.load()(21) == 42
    assert "Compiling a test for this machine, once" in capsys.readouterr().err
    assert TINY.is_cached()
    for path in (cache.folder(), cache.folder().parent):
        assert path.is_relative_to(empty_cache)
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    cache._load.cache_clear()
    del sys.modules[TINY.module]
    assert TINY.load()(4) == 8
    assert capsys.readouterr().err == ""


@needs_numba
def test_a_folder_that_others_may_write_to_is_refused(empty_cache: Path) -> None:
    cache.folder().mkdir(parents=True, mode=0o700)
    cache.folder().parent.chmod(0o700)
    cache.folder().chmod(0o777)
    with pytest.raises(CacheError, match="somebody else may write to it"):
        TINY.load()


@needs_numba
def test_a_folder_that_cannot_be_made_costs_the_cache_only(
    empty_cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (empty_cache / "megaland_env").write_text("a file in the way")
    assert TINY.load()(3) == 6
    assert "is not writable" in capsys.readouterr().err


@needs_numba
def test_a_change_in_any_source_file_takes_another_folder(
    empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "package"
    for name in ("cards.py", "engine/piles.py", "engine/rules/level.py", "engine/compiled/rules/level.py"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text("one")
        assert (cache._PACKAGE / name).is_file()
    monkeypatch.setattr(cache, "_PACKAGE", package)
    folders = []
    for path in [None, *sorted(package.rglob("*.py"))]:
        if path is not None:
            path.write_text("another")
        cache.folder.cache_clear()
        folders.append(cache.folder())
    assert len(set(folders)) == 5


@needs_numba
def test_a_program_may_depend_on_another_package(
    empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "players" / "rules").mkdir(parents=True)
    files = [tmp_path / "players" / name for name in ("__init__.py", "rules/level.py")]
    for path in files:
        path.write_text("one = 1")
    monkeypatch.syspath_prepend(tmp_path)
    other = replace(TINY, packages=("players",))
    folders = [cache.folder(), other.folder]
    for path in files:
        path.write_text("another = 1")
        cache.folder.cache_clear()
        folders.append(other.folder)
    assert len(set(folders)) == 4
    assert TINY.folder == folders[0]
    assert other.load()(21) == 42
    assert (other.is_cached(), TINY.is_cached()) == (True, False)
    assert list(other.folder.glob("tiny*"))
    for number in range(12):
        (other.folder.parent / f"old{number}").mkdir()
    os.utime(other.folder, (0, 0))
    cache.remove_old_folders([other])
    assert other.folder.is_dir()
    cache.remove_old_folders()
    assert not other.folder.is_dir()


@needs_numba
def test_programs_that_a_program_calls_are_loaded_first(empty_cache: Path) -> None:
    other = replace(TINY, name="other", calls=(TINY,))
    assert other.load()(2) == 4
    assert TINY.is_cached()


@needs_numba
def test_only_the_latest_folders_are_kept(empty_cache: Path) -> None:
    parent = cache.folder().parent
    for number in range(12):
        (parent / f"old{number}").mkdir(parents=True)
        os.utime(parent / f"old{number}", (number, number))
    cache.folder().mkdir()
    cache.remove_old_folders()
    left = {path.name for path in parent.iterdir()}
    assert left == {cache.folder().name, *(f"old{number}" for number in range(4, 12))}


def test_programs_have_names_of_their_own() -> None:
    assert len({program.name for program in PROGRAMS}) == len(PROGRAMS)
    assert ENGINES == ("auto", "numpy", "compiled")
