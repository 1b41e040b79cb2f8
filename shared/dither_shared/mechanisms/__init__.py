"""The mechanisms, each with its randomizer and exact law, all listed in ``MECHANISMS``.

To add a family, write its file, or its class beside a similar one, and name it in ``MECHANISMS``. There is no estimator
here: the server decodes by the fields that every mechanism has. A family is imported when it is first used, so that an
app loads only what it uses.
"""

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module

from ..mechanism import LISTED, NUMBERS, SETS, SPELLED, STRINGS, Items, Mechanism


class Registry(MutableMapping[str, type[Mechanism]]):
    """Families of mechanisms by the names that definitions use, in order.

    ``homes`` maps kinds of items to their families, each given as "file.Class" in this folder.
    """

    def __init__(self, homes: Mapping[Items, Mapping[str, str]]) -> None:
        self._homes = {name: home for each in homes.values() for name, home in each.items()}
        self._items = {name: items for items, each in homes.items() for name in each}
        self._known: dict[str, type[Mechanism]] = {}

    def __getitem__(self, name: str) -> type[Mechanism]:
        family = self._known.get(name)
        if family is None:
            family = self._known[name] = self.imported(self._homes[name])
        return family

    def __setitem__(self, name: str, family: type[Mechanism]) -> None:
        self._known[name], self._items[name] = family, family.items

    def __delitem__(self, name: str) -> None:
        del self._items[name]
        self._known.pop(name, None)

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def of(self, items: Items) -> list[type[Mechanism]]:
        """Return the families with items of a kind, without importing the others."""
        return [self[name] for name, each in self._items.items() if each == items]

    def class_named(self, name: str) -> type[Mechanism]:
        """Return a class by its own name; raise AttributeError if there is none."""
        for home in self._homes.values():
            if home.partition(".")[2] == name:
                return self.imported(home)
        raise AttributeError(f"module {__package__!r} has no attribute {name!r}")

    @staticmethod
    def imported(home: str) -> type[Mechanism]:
        """Import a class given as "file.Class"."""
        module, _, name = home.partition(".")
        family: type[Mechanism] = getattr(import_module(f"{__package__}.{module}"), name)
        return family


MECHANISMS = Registry({
    LISTED: {
        "randomized-response": "randomized_response.RandomizedResponse",
        "subset-selection": "subset_selection.SubsetSelection",
        "projective-geometry": "projective_geometry.ProjectiveGeometry",
        "hadamard-response": "hadamard_response.HadamardResponse",
        "local-hashing": "local_hashing.LocalHashing",
        "optimized-unary": "unary.OptimizedUnary",
        "symmetric-unary": "unary.SymmetricUnary",
        "bit-flip": "bit_flip.BitFlip",
    },
    SETS: {
        "set-response": "set_response.SetResponse",
        "privset": "privset.PrivSet",
    },
    STRINGS: {
        "rappor": "rappor.Rappor",
        "count-mean-sketch": "count_mean_sketch.CountMeanSketch",
        "hadamard-count-mean-sketch": "count_mean_sketch.HadamardCountMeanSketch",
        "projective-count-mean-sketch": "projective_sketch.ProjectiveSketch",
    },
    SPELLED: {
        "prefix-sketch": "prefix_sketch.PrefixSketch",
    },
    NUMBERS: {
        "dithered-response": "dithered_response.DitheredResponse",
        "discrete-laplace": "decaying.DiscreteLaplace",
        "exponential": "decaying.Exponential",
        "discrete-gaussian": "discrete_gaussian.DiscreteGaussian",
    },
})  # fmt: skip
"""Every mechanism, by the name that a definition uses; those of listed answers from simple to complex."""
