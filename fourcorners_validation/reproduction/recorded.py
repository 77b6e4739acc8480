"""The measurements, by the names that a source's file gives them."""

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fourcorners.recording.arrays import Floats
from fourcorners_validation.reproduction.experiment import Results, SimulatedResult

MIB = 2**20
# ``{name}`` is a text or a list of the file, ``{0..63}`` every number from one to another.
_NAME = re.compile(r"\{(?:([a-z_0-9]+)|(\d+)\.\.(\d+))\}")


@dataclass(frozen=True)
class Names:
    """The names of one source: its drives and, by their source, those of the others; texts and
    lists of texts."""

    source: str
    drives: Mapping[str, Mapping[str, str]]
    texts: Mapping[str, str | list[str | int]] = field(default_factory=dict)

    def key(self, experiment: str) -> str:
        """The key of a result for ``DRIVE``, ``DRIVE/VARIANT`` or ``SOURCE:DRIVE``."""
        source, _, own = experiment.rpartition(":")
        source = source or self.source
        drive, slash, variant = own.partition("/")
        return f"{source}/{self.drives[source][drive]}{slash}{variant}"

    def all_of(self, text: str) -> Iterator[str]:
        """The text with its names replaced, once for each element of the lists among them."""
        match = _NAME.search(text)
        if match is None:
            yield text
            return
        name, first, last = match.groups()
        given = self.texts[name] if name else list(range(int(first), int(last) + 1))
        for one in given if isinstance(given, list) else [given]:
            yield from self.all_of(text[: match.start()] + str(one) + text[match.end() :])

    def listed(self, given: str | list[str]) -> list[str]:
        """A list that stands in the file itself, or that the file names."""
        return given if isinstance(given, list) else list(self.all_of(f"{{{given}}}"))


@dataclass(frozen=True)
class Recorded:
    """The measurements, by a source's names.

    A rate of several drives or recordings is an array, of one a number; raises
    :class:`NotRunError` where the experiment was not run.
    """

    names: Names
    results: Results

    def one(self, experiment: str, recording: str) -> SimulatedResult:
        """One recording."""
        return self.results(self.names.key(experiment), recording)

    def is_there(self, experiment: str) -> bool:
        """Whether the experiment was run."""
        return self.names.key(experiment) in self.results.measured

    def iops(self, experiment: str, recording: str) -> Any:
        """I/Os per second."""
        return self._each(experiment, recording, lambda one: one.iops)

    def mbps(self, experiment: str, recording: str) -> Any:
        """In units of 10^6 bytes per second, as most reviews give rates."""
        return self._each(experiment, recording, lambda one: one.megabytes_per_second)

    def latency_s(self, experiment: str, recording: str) -> Any:
        """Mean latency."""
        return self._each(experiment, recording, lambda one: one.latency_mean_s)

    def latency_max_ms(self, experiment: str, recording: str) -> Any:
        """Longest latency."""
        return self._each(experiment, recording, lambda one: one.latency_max_s * 1e3)

    def over(self, experiment: str, other: str, recording: str) -> Any:
        """The rate of one drive or recording over that of another."""
        return self.mbps(experiment, recording) / self.mbps(other, recording)

    def seconds(self, experiment: str, recording: str) -> Floats:
        """IOPS of each full second; of several recordings, one after the other."""
        series = [self.one(experiment, id).second_ios for id in self.names.all_of(recording)]
        return np.concatenate([np.array(one, dtype=np.float64) for one in series])

    def _each(
        self, experiment: str, recording: str, rate: Callable[[SimulatedResult], float]
    ) -> Any:
        pairs = itertools.product(self.names.all_of(experiment), self.names.all_of(recording))
        values = np.array([rate(self.one(*pair)) for pair in pairs])
        return values if len(values) > 1 else values[0]
