"""The check of sentences: compares the sentences of a run's findings with its recordings and, for a
simulated drive, with the truth about it.

Every sentence of the summary, the advice, the spec sheet, the artefacts and the findings on
sustained writes has a name, and each name has a rule (:mod:`.rules`). A sentence without a rule
fails the check, so that a new one gets its rule. Two sentences of one page about the same thing
must agree (:mod:`.contradictions`).
"""
