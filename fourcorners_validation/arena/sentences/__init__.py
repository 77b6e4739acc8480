"""The check of sentences: what a run's findings say, held against its recordings and, of a
simulated drive, against what is true of it.

Every sentence of the summary, the advice, the spec sheet, the artefacts and the findings on how
writes go on has a name, and each name a rule (:mod:`.rules`): a sentence without a rule fails the
check, so that a new one gets its rule. What two sentences of one page say of the same thing must
agree (:mod:`.contradictions`).
"""
