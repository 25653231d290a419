"""What the homes of the data sets published: names and SHA-256 of the content of every file.

The hash is that of the *decompressed* content, so it does not matter who compressed a file. It is compared
before anything in a file is read.

Fashion-MNIST's were computed from the files of Debian's package dataset-fashion-mnist. MNIST's are those that
many public projects pin for the decompressed files, CIFAR-10's those that torchvision for Ruby pins for the
batches of the binary version; no genuine file of these two was at hand to compute them again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lntheory.errors import FileFormatError, InvalidInputError

from .files import Content, describe, read_bytes

__all__ = ["CIFAR10", "FASHION_MNIST", "MNIST", "PublishedSet"]


@dataclass(frozen=True)
class PublishedSet:
    """Some files that belong together.

    Parameters
    ----------
    title : str
    folders : tuple of str
        Where they may lie below the root, tried in this order (torchvision's layout among them).
    sha256 : mapping of str to str
        Of the content of every file.
    system_root : str or None
        Where a system package puts them.
    """

    title: str
    folders: tuple[str, ...]
    sha256: Mapping[str, str]
    system_root: str | None = None

    def read(self, root: str | os.PathLike[str] | None) -> dict[str, Content]:
        """The content of every file, by its published name.

        Raises
        ------
        FileFormatError
            If a file cannot be decompressed, or is far too long.
        InvalidInputError
            If files are not there; names the places looked at.
        """
        return {file: read_bytes(path) for file, path in self._find(root).items()}

    def is_published(self, contents: Mapping[str, Content], published_only: bool) -> bool:
        """Whether every file is the published one.

        Raises
        ------
        FileFormatError
            If one is not and `published_only`; names the file and both hashes.
        """
        for file, sha256 in self.sha256.items():
            content = contents[file]
            if content.sha256 != sha256:
                if not published_only:
                    return False
                raise FileFormatError(
                    f"{content.where}: expected content of SHA-256 {sha256}, that of {self.title}, found "
                    f"{content.sha256} ({len(content.data)} bytes of {describe(content.data[:24])}); fetch "
                    "it again, or pass published_only=False to use it as it is"
                )
        return True

    def _find(self, root: str | os.PathLike[str] | None) -> dict[str, Path]:
        """Path of every file; all of them lie in the first folder that has any."""
        given = root if root is not None else self.system_root
        if given is None or not Path(given).is_dir():
            hint = f" (Debian's package puts it in {self.system_root})" if self.system_root else ""
            raise InvalidInputError(
                f"{self.title}: expected a folder with its files as root, "
                f"found {'none' if given is None else repr(str(given))}{hint}"
            )
        for folder in (Path(given, name) for name in self.folders):
            paths = {file: path for file in self.sha256 if (path := _variant(folder, file)) is not None}
            if paths:
                missing = [file for file in self.sha256 if file not in paths]
                if missing:
                    raise InvalidInputError(
                        f"{folder}: expected the {len(self.sha256)} files of {self.title}, found "
                        f"{', '.join(paths)} but no {', '.join(missing)} (.gz or not)"
                    )
                return paths
        raise InvalidInputError(
            f"{given}: expected the {len(self.sha256)} files of {self.title}, {', '.join(self.sha256)} (.gz "
            f"or not), there or in {', '.join(name for name in self.folders if name != '.')}, found "
            "none of them"
        )


def _variant(folder: Path, file: str) -> Path | None:
    """The file as published, or unpacked by a program that put a dot into its name."""
    for name in (file, file.replace("-idx", ".idx"), f"{file}.gz"):
        if (folder / name).is_file():
            return folder / name
    return None


MNIST = PublishedSet(
    "MNIST",
    ("MNIST/raw", "MNIST", "mnist", "raw", "."),
    {
        "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    },
)

FASHION_MNIST = PublishedSet(
    "Fashion-MNIST",
    ("FashionMNIST/raw", "FashionMNIST", "fashion-mnist", "fashion", "raw", "."),
    {
        "train-images-idx3-ubyte": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "train-labels-idx1-ubyte": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        "t10k-images-idx3-ubyte": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "t10k-labels-idx1-ubyte": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    },
    system_root="/usr/share/datasets/fashion-mnist",  # Debian's package dataset-fashion-mnist
)

CIFAR10 = PublishedSet(
    "CIFAR-10",
    ("cifar-10-batches-bin", "."),
    {
        "data_batch_1.bin": "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
        "data_batch_2.bin": "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
        "data_batch_3.bin": "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
        "data_batch_4.bin": "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
        "data_batch_5.bin": "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
        "test_batch.bin": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
    },
)
