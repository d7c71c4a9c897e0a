"""The short import paths of the packages: each name exists, and is imported only when it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

from megaland_experiments import probe, records
from megaland_experiments.probe import command, result, saving
from megaland_experiments.records import folder, simulation


def test_the_short_paths_are_the_objects_of_the_modules() -> None:
    assert (records.load, records.can, records.Records) == (folder.load, folder.can, folder.Records)
    assert records.simulate is simulation.simulate
    assert (probe.probe, probe.Probe) == (command.probe, result.Probe)
    assert (probe.load_probe, probe.save_probe) == (saving.load_probe, saving.save_probe)


@pytest.mark.parametrize("package", [records, probe], ids=["records", "probe"])
def test_an_unknown_name_is_an_attribute_error(package: object) -> None:
    with pytest.raises(AttributeError, match=r"module 'megaland_experiments\.\w+' has no attribute 'nothing'"):
        _ = package.nothing  # type: ignore[attr-defined]


def test_a_package_imports_no_libraries_before_a_name_is_used() -> None:
    code = (
        "import sys, megaland_experiments.records as records, megaland_experiments.probe as probe\n"
        "assert not {'polars', 'rich', 'matplotlib'} & set(sys.modules)\n"
        "assert records.load and 'polars' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
