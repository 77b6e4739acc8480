"""The contests as calls: each returns its scores, with tables and sentences for people."""

from fourcorners_validation.arena.explain.study import (
    ForeignStudy,
    KnownStudy,
    NoiseStudy,
    ProbingDocument,
    ProbingStudy,
    TargetStudy,
    arena_explain,
)
from fourcorners_validation.arena.sentences.study import (
    SentenceDocument,
    SentenceStudy,
    arena_sentences,
)
from fourcorners_validation.arena.steady.study import (
    SeriesDocument,
    SeriesStudy,
    SteadyDocument,
    SteadyStudy,
    arena_series,
    arena_steady,
)

__all__ = [
    "ArenaStudy",
    "ForeignStudy",
    "KnownStudy",
    "NoiseStudy",
    "ProbingDocument",
    "ProbingStudy",
    "SentenceDocument",
    "SentenceStudy",
    "SeriesDocument",
    "SeriesStudy",
    "SteadyDocument",
    "SteadyStudy",
    "TargetStudy",
    "arena_explain",
    "arena_sentences",
    "arena_series",
    "arena_steady",
]

ArenaStudy = SteadyStudy | SeriesStudy | ProbingStudy | SentenceStudy
