"""The rule for output folders of commands, the lock, and the checksums."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megaland_env import checksums as checksums_module
from megaland_env.checksums import CHECKSUMS_FILE, Checksums, seal
from megaland_experiments import cli
from megaland_experiments.shared import run_folder
from megaland_experiments.shared.output import check_writable
from megaland_experiments.shared.run_folder import (
    FolderError,
    FolderInUseError,
    Kind,
    Work,
    claim,
    numbered,
    read_stored,
    reopen,
)
from megaland_experiments.strength.tournament import tournament

KIND = Kind(
    "a test",
    "settings.json",
    "megaland-test",
    beginnings=("games", "networks.pt"),
    written=(r"games/\d+\.npz",),
    old_key="colour",
)
RED, BLUE = Work(KIND, {"colour": "red"}), Work(KIND, {"colour": "blue"})


def finish(path: Path, work: Work = RED) -> None:
    """Make a folder with a finished file."""
    with claim(work, path) as folder:
        folder.checksums.write("result.txt", b"done")


def files(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def version(monkeypatch: pytest.MonkeyPatch, now: str) -> None:
    monkeypatch.setattr(run_folder, "versions", lambda: {"megaland": now})


# ------------------------------------------------------------------------------------------------------ the rule


def test_an_empty_name_is_not_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FolderError, match="the name of the folder is empty"), claim(RED, ""):
        pass
    with pytest.raises(FolderError, match="the name of the file is empty"):
        check_writable("")
    assert not list(tmp_path.iterdir())


def test_a_new_folder_says_what_it_holds(tmp_path: Path) -> None:
    with claim(Work(KIND, {"colour": "red"}, {"command": "paint"}), tmp_path / "a" / "b") as folder:
        assert folder.is_new
        assert not folder.has("result.txt")
    content = json.loads((tmp_path / "a" / "b" / "settings.json").read_text())
    assert content.pop("version") == run_folder.versions()["megaland"]
    assert content == {"format": "megaland-test", "command": "paint", "settings": {"colour": "red"}}


def test_the_same_work_goes_on(tmp_path: Path) -> None:
    finish(tmp_path)
    before = files(tmp_path)
    with claim(RED, tmp_path) as folder:
        assert not folder.is_new
        assert folder.has("result.txt")
        assert folder.stored.settings == {"colour": "red"}
    assert files(tmp_path) == before


def test_other_work_in_a_named_folder_is_refused(tmp_path: Path) -> None:
    finish(tmp_path / "mine")
    before = files(tmp_path)
    with pytest.raises(FolderError) as refused, claim(BLUE, tmp_path / "mine"):
        pass
    assert str(refused.value) == (
        f'{tmp_path / "mine"} holds a test with other settings: colour is "red" there and "blue" here; '
        "name another folder, or delete this one"
    )
    assert files(tmp_path) == before


def test_another_version_in_a_named_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    version(monkeypatch, "0.2.0")
    finish(tmp_path)
    version(monkeypatch, "0.3.0")
    message = "holds a test of version 0.2.0, and this is version 0.3.0; name another folder, or delete this one"
    with pytest.raises(FolderError, match=message), claim(RED, tmp_path):
        pass
    with pytest.raises(FolderError, match=message), reopen(KIND, tmp_path):
        pass
    assert read_stored(tmp_path, KIND).version == "0.2.0"


def test_a_folder_without_a_version_is_only_read(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"colour": "red"}')
    stored = read_stored(tmp_path, KIND)
    assert (stored.version, stored.is_old) == ("0.1.0", True)
    with pytest.warns(UserWarning, match=r"written by version 0\.1\.0, without checksums"):
        run_folder.warn_if_old(tmp_path, stored)
    with pytest.raises(FolderError, match=r"a test of version 0\.1\.0, which this version, .*, can read but not"):
        claim(RED, tmp_path).__enter__()
    with pytest.raises(FolderError, match=r"a test of version 0\.1\.0"):
        reopen(KIND, tmp_path).__enter__()
    assert list(tmp_path.iterdir()) == [tmp_path / "settings.json"]


def test_the_default_folder_takes_the_next_free_name(tmp_path: Path) -> None:
    default = tmp_path / "runs" / "test"
    finish(default, BLUE)
    finish(numbered(default, 3), RED)  # the second was deleted
    with claim(RED, None, default) as folder:
        assert folder.path == numbered(default, 2)
        assert folder.is_new
        assert folder.note == (
            f'{default} holds a test with other settings: colour is "blue" there and "red" here; '
            f"so this goes to {folder.path}"
        )
        folder.checksums.write("result.txt", b"done")
    with claim(RED, None, default) as folder:
        assert folder.path == numbered(default, 2)
        assert not folder.is_new
    with claim(BLUE, None, default) as folder:
        assert (folder.path, folder.note) == (default, "")


def test_the_names_that_follow() -> None:
    assert [str(numbered("runs/tournament", k)) for k in (1, 2, 3)] == [
        "runs/tournament",
        "runs/tournament-2",
        "runs/tournament-3",
    ]
    assert [str(numbered("runs/ppo-1", k)) for k in (1, 2, 12)] == ["runs/ppo-1", "runs/ppo-2", "runs/ppo-12"]


@pytest.mark.parametrize("name", ["thesis.txt", "games/part-1", ".hidden", "settings.txt"])
def test_something_else_is_left_alone(name: str, tmp_path: Path) -> None:
    (tmp_path / "a" / name).parent.mkdir(parents=True)
    (tmp_path / "a" / name).write_text("precious")
    with pytest.raises(FolderError, match=f"does not hold a test, but {name.partition('/')[0]}; name another folder"):
        claim(RED, tmp_path / "a").__enter__()
    with claim(RED, None, tmp_path / "a") as folder:
        assert folder.path == tmp_path / "a-2"
    assert files(tmp_path / "a") == {name: b"precious"}


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(FolderError, match=f"{tmp_path / 'file'} is not a folder$"):
        claim(RED, tmp_path / "file").__enter__()
    with pytest.raises(FolderError, match=f"file is not a folder; {tmp_path / 'file' / 'below'} cannot be made"):
        claim(RED, tmp_path / "file" / "below").__enter__()


@pytest.mark.parametrize("name", ["test", "runs/test"])
def test_what_blocks_every_default_folder_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("mine")
    default = tmp_path / "runs" / name
    with pytest.raises(FolderError, match=f"{tmp_path / 'runs'} is not a folder; {default} cannot be made"):
        claim(RED, None, default).__enter__()


def test_a_link_to_nothing_is_not_a_folder(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nothing")
    for folder in (link, link / "below"):
        with pytest.raises(FolderError, match=f"{link} is a link to what does not exist"):
            claim(RED, folder).__enter__()
    with pytest.raises(FolderError, match=f"{link} is a link to what does not exist; {link / 'test'} cannot be made"):
        claim(RED, None, link / "test").__enter__()
    with claim(RED, None, link) as owned:
        assert owned.path == tmp_path / "link-2"
        assert owned.note.startswith(f"{link} is a link to what does not exist; so this goes to")
    assert not (tmp_path / "nothing").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_is_no_lock(tmp_path: Path) -> None:
    finish(tmp_path)
    (tmp_path / ".lock").unlink()
    os.mkfifo(tmp_path / ".lock")
    for attempt in (claim(RED, tmp_path), reopen(KIND, tmp_path)):
        with pytest.raises(FolderError, match=r"\.lock is not a regular file"):
            attempt.__enter__()


def test_a_settings_file_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"format": "an app", "version": "3"}')
    with pytest.raises(FolderError, match=r"does not hold a test, but a settings\.json of something else"):
        claim(RED, tmp_path).__enter__()


# ------------------------------------------------------------------------------------------------------ beginnings


def test_work_that_was_only_begun_stands_in_nobodys_way(tmp_path: Path) -> None:
    with claim(BLUE, tmp_path, prepare=lambda path, checksums: (path / "games").mkdir()) as folder:
        (folder.path / "games" / ".1.npz.abcd_123.part").write_text("half")
    with claim(RED, tmp_path) as folder:
        assert folder.is_new
        assert folder.stored.settings == {"colour": "red"}
    assert sorted(files(tmp_path)) == [".lock", CHECKSUMS_FILE, "settings.json"]


@pytest.mark.parametrize(
    "left", [[], [".lock"], [".lock", CHECKSUMS_FILE], [".settings.json.x1234567.part"], ["games/.1.npz.x1234567.old"]]
)
def test_what_an_interrupted_beginning_leaves_is_recognised(left: list[str], tmp_path: Path) -> None:
    (tmp_path / "games").mkdir()
    for name in left:
        (tmp_path / name).write_text("")
    finish(tmp_path)
    assert sorted(files(tmp_path)) == [".lock", CHECKSUMS_FILE, "result.txt", "settings.json"]


def test_files_of_an_interrupted_beginning_are_recognised_by_their_checksum(tmp_path: Path) -> None:
    Checksums(tmp_path).write("networks.pt", b"some")
    finish(tmp_path)
    assert sorted(files(tmp_path)) == [".lock", CHECKSUMS_FILE, "result.txt", "settings.json"]


@pytest.mark.parametrize(
    "name",
    [
        "networks.pt",
        "games",
        "games/mine.npz",
        "games/.mine.part",
        "games/.mine.npz.abcd_123.part",
        CHECKSUMS_FILE,
        ".lock",
        ".notes.old",
        ".notes.part",
        ".notes.abcd_123.part",
        ".settings.json.part",
        ".settings.json.ABCD-123.old",
        ".drafts.old/thesis.txt",
    ],
)
def test_a_file_of_the_user_is_kept_whatever_its_name(name: str, tmp_path: Path) -> None:
    file = tmp_path / "a" / name
    file.parent.mkdir(parents=True)
    file.write_text("precious\n")
    with pytest.raises(FolderError, match=r"does not hold a test, but .*; name another folder"):
        claim(RED, tmp_path / "a").__enter__()
    with claim(RED, None, tmp_path / "a") as folder:
        assert folder.path == tmp_path / "a-2"
    assert files(tmp_path / "a") == {name: b"precious\n"}


@pytest.mark.parametrize("change", ["other", "list", "both"])
def test_a_file_that_only_looks_like_a_beginning_is_kept(change: str, tmp_path: Path) -> None:
    Checksums(tmp_path).write("networks.pt", b"some")
    if change in ("other", "both"):
        (tmp_path / "networks.pt").write_bytes(b"precious")
    if change in ("list", "both"):
        (tmp_path / CHECKSUMS_FILE).write_text(f"{'0' * 64}  thesis.txt\n")
    before = files(tmp_path)
    with pytest.raises(FolderError, match="does not hold a test, but"), claim(RED, tmp_path):
        pass
    assert files(tmp_path) == before


@pytest.mark.parametrize("name", [".notes.old", ".notes.abcd_123.part", "mine/.settings.json.abcd_123.old"])
def test_going_on_removes_no_file_of_the_user(name: str, tmp_path: Path) -> None:
    finish(tmp_path)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("precious")
    (tmp_path / ".result.txt.abcd_123.part").write_text("half")
    finish(tmp_path)
    with reopen(KIND, tmp_path):
        pass
    assert (tmp_path / name).read_text() == "precious"
    assert not (tmp_path / ".result.txt.abcd_123.part").exists()


def test_a_beginning_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def prepare(path: Path, checksums: Checksums) -> None:
        checksums.write("networks.pt", b"some")
        raise OSError(28, "No space left on device", str(path / "networks.pt"))

    with pytest.raises(OSError, match="No space left"), claim(RED, tmp_path / "a" / "b", prepare=prepare):
        pass
    assert list(tmp_path.iterdir()) == []


def test_settings_that_json_does_not_know_leave_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"), claim(Work(KIND, {"x": float("nan")}), tmp_path / "a"):
        pass
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------------------ the lock

HOLD = """
import sys
from tests.experiments.test_run_folder import RED, claim
with claim(RED, sys.argv[1]) as folder:
    print("mine", flush=True)
    sys.stdin.read()
"""


def test_another_process_is_told_that_the_folder_is_in_use(tmp_path: Path) -> None:
    out = tmp_path / "run"
    owner = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(out)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    assert owner.stdout.readline() == "mine\n"
    message = f"{out} is in use: another process works in it; wait until it has ended, or name another folder"
    for attempt in (claim(RED, out), claim(RED, None, out), reopen(KIND, out)):
        with pytest.raises(FolderInUseError, match=message):
            attempt.__enter__()
    with claim(BLUE, None, out) as folder:  # nothing is finished in the first, but somebody is at it
        assert folder.path == tmp_path / "run-2"
    assert read_stored(out, KIND).settings == {"colour": "red"}  # readers need no lock
    owner.kill()
    owner.communicate()
    with claim(RED, out) as folder:
        assert not folder.is_new


@pytest.mark.skipif(os.name != "posix", reason="needs modes of files")
def test_a_folder_that_may_only_be_read_can_be_read(tmp_path: Path) -> None:
    finish(tmp_path)
    (tmp_path / ".lock").unlink()
    tmp_path.chmod(0o555)
    try:
        assert read_stored(tmp_path, KIND).settings == {"colour": "red"}
        read_stored(tmp_path, KIND).checksums.verify_all()
        assert not (tmp_path / ".lock").exists()
    finally:
        tmp_path.chmod(0o755)


def test_work_is_taken_up_again_as_it_is(tmp_path: Path) -> None:
    finish(tmp_path)
    with reopen(KIND, tmp_path) as folder:
        assert folder.stored.settings == {"colour": "red"}
    with pytest.raises(FolderError, match=r"there is no settings\.json in it"), reopen(KIND, tmp_path / "no"):
        pass
    assert not (tmp_path / "no").exists()


# ------------------------------------------------------------------------------------------------------ checksums


def damages(good: bytes) -> list[bytes]:
    """The ways in which a file may be damaged."""
    flips = [good[:k] + bytes([good[k] ^ 16]) + good[k + 1 :] for k in range(len(good))]
    return [*flips, b"", good[: len(good) // 2], good + b"x", b"[" * 100_000, b"\xff\xfe", b"{}", b"[]", b"3"]


def test_damage_to_any_file_names_it(tmp_path: Path) -> None:
    finish(tmp_path)
    for name in ("settings.json", "result.txt"):
        good = (tmp_path / name).read_bytes()
        for bad in damages(good):
            (tmp_path / name).write_bytes(bad)
            with pytest.raises(FolderError, match=name), claim(RED, tmp_path):
                pass
        (tmp_path / name).write_bytes(good)
    finish(tmp_path)


def test_damage_to_the_list_is_named_or_does_not_matter(tmp_path: Path) -> None:
    finish(tmp_path)
    good = (tmp_path / CHECKSUMS_FILE).read_bytes()
    for bad in damages(good):
        (tmp_path / CHECKSUMS_FILE).write_bytes(bad)
        said = ""
        try:
            with claim(RED, tmp_path) as folder:  # a name may have become another, or the last line may be torn
                assert not folder.has("result.txt") or bad.startswith(good)
        except FolderError as error:
            said = str(error)
        assert not said or CHECKSUMS_FILE in said


def test_a_list_with_the_line_ends_of_windows(tmp_path: Path) -> None:
    finish(tmp_path)
    good = (tmp_path / CHECKSUMS_FILE).read_bytes()
    (tmp_path / CHECKSUMS_FILE).write_bytes(good.replace(b"\n", b"\r\n"))
    with claim(RED, tmp_path) as folder:
        assert folder.has("result.txt")
        folder.checksums.write("more.txt", b"more")
    assert Checksums(tmp_path).read("more.txt", 100) == b"more"
    assert Checksums(tmp_path).read("result.txt", 100) == b"done"


def test_without_the_list_nothing_is_to_be_deleted(tmp_path: Path) -> None:
    finish(tmp_path)
    (tmp_path / CHECKSUMS_FILE).unlink()
    for tried in (lambda: claim(RED, tmp_path), lambda: reopen(KIND, tmp_path)):
        with pytest.raises(FolderError) as error, tried():
            pass
        assert str(error.value).startswith(f"{tmp_path} lacks SHA256SUMS, the list of its checksums; copy that file")
        assert "delete" not in str(error.value)


def test_a_list_of_too_many_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finish(tmp_path)
    monkeypatch.setattr(checksums_module, "MOST_LINES", 1)
    with pytest.raises(FolderError, match=r"SHA256SUMS has 2 lines; it may have 1"):
        Checksums(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("name", ["settings.json", "result.txt", CHECKSUMS_FILE])
def test_what_is_no_file_is_named(name: str, tmp_path: Path) -> None:
    finish(tmp_path)
    for make in (os.mkfifo, os.mkdir, lambda path: os.truncate(path, 2**40)):
        keep = (tmp_path / name).read_bytes()
        if make in (os.mkfifo, os.mkdir):
            (tmp_path / name).unlink()
        make(tmp_path / name)
        with pytest.raises((FolderError, OSError), match=name), claim(RED, tmp_path):
            pass
        (tmp_path / name).rmdir() if (tmp_path / name).is_dir() else (tmp_path / name).unlink()
        (tmp_path / name).write_bytes(keep)


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a\\b"])
def test_names_outside_the_folder_are_damage(name: str, tmp_path: Path) -> None:
    (tmp_path / CHECKSUMS_FILE).write_text(f"{'0' * 64}  {name}\n")
    with pytest.raises(FolderError, match="SHA256SUMS is damaged in line 1"):
        Checksums(tmp_path)


def test_a_line_that_was_cut_off_is_of_an_unfinished_file(tmp_path: Path) -> None:
    finish(tmp_path)
    with (tmp_path / CHECKSUMS_FILE).open("a") as file:
        file.write("0123456789  result-2.t")
    checksums = Checksums(tmp_path)
    assert list(checksums) == ["settings.json", "result.txt"]
    checksums.write("result-2.txt", b"more")
    again = Checksums(tmp_path)
    assert list(again) == ["settings.json", "result.txt", "result-2.txt"]
    again.verify_all()


def test_a_file_is_good_before_and_after_it_is_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finish(tmp_path)
    checksums = Checksums(tmp_path)

    def stop(*arguments: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("megaland_env.checksums.write_bytes", stop)
        with pytest.raises(KeyboardInterrupt):
            checksums.write("result.txt", b"better")
    assert Checksums(tmp_path).read("result.txt", 100) == b"done"
    checksums.write("result.txt", b"better")
    assert Checksums(tmp_path).read("result.txt", 100) == b"better"


@pytest.mark.skipif(sys.platform != "linux", reason="needs sha256sum")
def test_the_usual_tool_reads_the_list(tmp_path: Path) -> None:
    finish(tmp_path)
    checksums = Checksums(tmp_path)
    checksums.write("result.txt", b"better")
    checksums.write("gone.txt", b"")
    (tmp_path / "gone.txt").unlink()
    checksums.forget_old()
    command = ["sha256sum", "--check", "--strict", CHECKSUMS_FILE]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert said.stdout == "settings.json: OK\nresult.txt: OK\n"


def test_a_folder_that_appears_whole_is_sealed(tmp_path: Path) -> None:
    (tmp_path / "league").mkdir()
    (tmp_path / "model.pt").write_bytes(b"model")
    (tmp_path / "league" / "policy.json").write_bytes(b"{}")
    seal(tmp_path)
    assert list(Checksums(tmp_path)) == ["league/policy.json", "model.pt"]
    (tmp_path / "league" / "policy.json").write_bytes(b"[]")
    with pytest.raises(FolderError, match=r"policy\.json is damaged: it has not the checksum in .*SHA256SUMS"):
        Checksums(tmp_path).verify_all()


@given(st.binary(max_size=200))
def test_no_list_is_another_error(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, CHECKSUMS_FILE).write_bytes(content)
        said = ""
        try:
            Checksums(folder)
        except FolderError as error:
            said = str(error)
        assert not said or CHECKSUMS_FILE in said


@pytest.mark.parametrize(
    "name", ["settings.json", "SHA256SUMS", ".lock", "progress.csv", "games/part.npz", "policy/policy.json", "sub/new"]
)
def test_a_file_of_an_owned_folder_is_not_written_over(tmp_path: Path, name: str) -> None:
    """A file of an owned folder is not overwritten by results either (--json, --csv, --replay, --out)."""
    folder = tmp_path / "t"
    tournament(["random", "threshold"], num_players=2, games=4, out=folder)
    (folder / name).parent.mkdir(exist_ok=True)
    with pytest.raises(FolderError, match=f"is a file of the folder {re.escape(str(folder))}"):
        check_writable(folder / name)
    check_writable(folder / "notes-of-mine.json")
    check_writable(tmp_path / name.replace("/", "-"))


@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_default_folder_that_cannot_be_made_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A default folder that cannot be created is an error, not an endless loop."""
    monkeypatch.chdir(tmp_path)
    if kind == "file":
        (tmp_path / "runs").touch()
    else:
        (tmp_path / "runs").symlink_to(tmp_path / "nowhere")
    assert cli.main(["tournament", "random", "threshold", "--games", "4", "--players", "2"]) == 2
