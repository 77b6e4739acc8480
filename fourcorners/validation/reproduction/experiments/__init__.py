"""The reviews: each module says what is run, which figures are drawn from it, what must hold."""

from fourcorners.validation.reproduction.experiments import (
    core,
    core_checks,
    owc,
    owc_readers,
    pages,
    sata,
    vector,
    vector_more,
    vertex3,
)
from fourcorners.validation.reproduction.source import Source

SOURCES = {
    source.name: source
    for source in (
        Source(
            "core",
            "Measure, model, predict, explain",
            "steve8's blog, 2008-07-25, How I figured out my OCZ Core 64GB SSD",
            core.EXPERIMENTS,
            core.FIGURES,
            core_checks.CHECKS,
            "Power at idle and load.",
        ),
        Source(
            "owc",
            "Alignment",
            "AnandTech, 2010-02, OWC Mercury Extreme, random read and write page",
            (*owc.EXPERIMENTS, *owc_readers.EXPERIMENTS),
            owc.FIGURES,
            (*owc.CHECKS, *owc_readers.CHECKS),
            "Application traces (H21's second half): the reviews' recordings are not public.",
        ),
        Source(
            "vertex3",
            "The four corners",
            "AnandTech, 2011-04, OCZ Vertex 3 120GB, random and sequential pages",
            vertex3.EXPERIMENTS,
            vertex3.FIGURES,
            vertex3.CHECKS,
        ),
        Source(
            "sata",
            "The link",
            "Tom's Hardware, 2011, Does Your Fast SSD Really Need SATA 6Gb/s?, 4 KB random page",
            sata.EXPERIMENTS,
            sata.FIGURES,
            sata.CHECKS,
        ),
        Source(
            "vector",
            "Consistency",
            "AnandTech, 2012-11, OCZ Vector, performance consistency page",
            vector_more.EXPERIMENTS,
            vector.FIGURES,
            (*vector.CHECKS, *vector_more.CHECKS),
        ),
        Source(
            "pages",
            "Other pages",
            "What other sites measured on the same drives, and what their vendors promise",
            pages.EXPERIMENTS,
            pages.FIGURES,
            (),
        ),
    )
}
"""By their short names, the reviews in order of time."""
