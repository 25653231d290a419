"""What the homes of the data sets published: names, counts and SHA-256 of the content of every file.

The hash is that of the *decompressed* content, so it does not matter who compressed a file, and for CIFAR-10
that of the 10,000 records of 1 + 3,072 bytes, which the binary and the python version have in common.

Fashion-MNIST's were computed from the files of Debian's package dataset-fashion-mnist. MNIST's are those that
many public projects pin for the decompressed files, CIFAR-10's those that torchvision for Ruby pins for the
batches of the binary version; no genuine file of these two was at hand to compute them again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["CIFAR10_BATCHES", "CIFAR10_RECORDS", "FASHION_MNIST", "MNIST", "IdxSet"]


@dataclass(frozen=True)
class IdxSet:
    """Four IDX files: images and labels to train and to test with.

    Parameters
    ----------
    title : str
    folders : tuple of str
        Where they may lie below the root, tried in this order (torchvision's layout among them).
    system_root : str or None
        Where a system package puts them.
    sha256 : mapping of str to str
        Of the content of every file.
    """

    title: str
    folders: tuple[str, ...]
    system_root: str | None
    sha256: Mapping[str, str]


MNIST = IdxSet(
    "MNIST",
    ("MNIST/raw", "MNIST", "mnist", "raw", "."),
    None,
    MappingProxyType(
        {
            "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        }
    ),
)

FASHION_MNIST = IdxSet(
    "Fashion-MNIST",
    ("FashionMNIST/raw", "FashionMNIST", "fashion-mnist", "fashion", "raw", "."),
    "/usr/share/datasets/fashion-mnist",  # Debian's package dataset-fashion-mnist
    MappingProxyType(
        {
            "train-images-idx3-ubyte": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            "train-labels-idx1-ubyte": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
            "t10k-images-idx3-ubyte": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            "t10k-labels-idx1-ubyte": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        }
    ),
)

CIFAR10_RECORDS = 10_000  # in every batch

CIFAR10_BATCHES: Mapping[str, str] = MappingProxyType(
    {
        "data_batch_1": "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
        "data_batch_2": "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
        "data_batch_3": "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
        "data_batch_4": "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
        "data_batch_5": "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
        "test_batch": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
    }
)
