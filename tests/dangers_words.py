"""Dangerous situations: the word that permits writing does not name the target."""

from collections.abc import Callable, Iterator
from pathlib import Path

from dangers import Danger, Disk, danger, destroy, disk


def _wrong_word(name: str, word: Callable[[Disk, Path], str]) -> None:
    def stage(folder: Path) -> Iterator[Danger]:
        with disk(folder) as one:
            yield Danger(destroy(one.device, word(one, folder)), "names", [one.image])

    stage.__name__ = f"the_word_is_{name}"
    danger(stage)


_wrong_word("a_device_that_does_not_exist", lambda *_: "/dev/sdzz")
_wrong_word("a_character_device", lambda *_: "/dev/null")
_wrong_word("yes", lambda *_: "yes")
_wrong_word("empty", lambda *_: "")
_wrong_word("the_file_behind_the_loop_device", lambda one, _: str(one.image))
_wrong_word("a_folder", lambda _, folder: str(folder))
_wrong_word("the_name_without_its_folder", lambda one, _: Path(one.device).name)


@danger
def the_word_is_another_disk(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one, disk(folder, name="other.img") as other:
        yield Danger(destroy(one.device, other.device), "names", [one.image, other.image])


@danger
def the_word_is_a_partition_of_the_target(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one:
        yield Danger(destroy(one.device, one.partition(1)), "names", [one.image])


@danger
def the_word_is_the_disk_of_the_target(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one:
        yield Danger(destroy(one.partition(1), one.device), "names", [one.image])


@danger
def the_word_is_the_neighbouring_partition(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one:
        yield Danger(destroy(one.partition(1), one.partition(2)), "names", [one.image])


@danger
def the_word_for_files_on_a_device(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one:
        yield Danger([one.device, "--overwrite", one.device], "use --destroy-data", [one.image])


@danger
def the_word_for_none_of_several_targets(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one, disk(folder, name="other.img") as other:
        yield Danger(
            [one.device, other.device, "--destroy-data", "/dev/null"],
            "none of the targets",
            [one.image, other.image],
        )


@danger
def a_size_for_a_device(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one:
        yield Danger(
            [*destroy(one.device), "--size", "4MiB"], "--size is for regular files", [one.image]
        )


@danger
def nvme_commands_to_a_device_of_another_kind(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one:
        yield Danger(
            [*destroy(one.device), "--engine", "nvme"], "whole NVMe namespaces", [one.image]
        )
