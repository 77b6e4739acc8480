"""How sentences read: the wording of some, for each way in which a sentence is put together.

What estimators say is asserted elsewhere, by codes and values.
"""

import pytest

from fourcorners.sentences import Said, say, sentence, together

PLAIN = say("durability.times", plain=1e-5, forced=1.1e-5, read=9e-5)
WRITTEN = say("durability.times_written", written=2e-5, times=PLAIN)
READ = say("kind.read_cost", seconds=4.8e-4)
BEGINS = {"begins": say("feels.at_the_end"), "ends": [say("feels.fell", share=0.0825)]}
JUDGED = say("judge.unknown", why=say("judge.may_be_free", written=32.8e9, free=115e9))
LEFT = {"second": 60, "iops": 24e3, "after_iops": 6e3, "moved": "fell", "change": 0.75, "wrote": []}
STEADY = {**LEFT, "iops": 6e3}
ROW = {"title": "Large reads", "value": (1.31e8, (1.3e8, 1.32e8)), "unit": "B/s"}
FEW = say("access_model.few", ios=3, largest=2**29)
DOUBT = say("any.most_disturbed", disturbed=3, watched=4)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            say("mapping_unit.measured", value=4096.0, cost=1.93),
            "The drive maps units of 4 KiB: a small write across a multiple of that costs 1.93"
            " times as much as one within a unit, and larger powers of two cost no more.",
        ),
        (
            say(
                "parallel_units.conflicts_alone",
                value=8.0,
                gain=7.5,
                why=say("parallel_units.station"),
            ),
            "By conflicts alone: 8 units conflict, so that many reads are served at the same "
            "time unless something else limits them. That reads become 7.50 times as fast with"
            " a queue agrees with this but does not show it: a part that every command passes,"
            " or that several units share, is busy before the units are, so their number does "
            "not show.",
        ),
        (
            say(
                "durability.kept", shown=say("durability.times_written", written=2e-5, times=PLAIN)
            ),
            "A plain write takes 10.0 µs, a FUA write 11.0 µs, a read 90.0 µs, and a read of "
            "data just written 20.0 µs: writes are complete in a buffer, and FUA does not make "
            "them wait. Either the buffer keeps its content when power fails, or the drive ignores "
            "FUA and flushes; only a loss of power would show which.",
        ),
        (
            say("judge.may_be_free", written=19 * 2**30, free=115e9),
            "20.4 GB were written, but the drive may have had erased flash for 115 GB, spare area "
            "included",
        ),
        (
            say("track_switch.no_turns", times=[1e-3, 1.5e-3]),
            "At the end of a track the disk needs 1.00 ms or 1.50 ms, but these do not "
            "alternate as head and cylinder switches do.",
        ),
        (
            say("any.under_load", text="It is so.", doubt=DOUBT),
            "Other load disturbed 3 of 4 probes that only read, so this one is not reliable. "
            "Under that load the finding was: “It is so.”",
        ),
        (
            say(
                "kind.rewrites",
                read=READ,
                write_s=0.246,
                reads=512.6,
                block=[say("kind.block_copied", size=11.3 * 2**20)],
            ),
            "This looks like a solid-state drive that rewrites a large block for each small "
            "write: a random read costs 480 µs, a random write 246 ms, as much as 513 reads (a"
            " block of about 11.3 MiB, or a larger one if the drive copies it faster than the host"
            " reads and writes).",
        ),
        (
            say(
                "kind.disk",
                read=READ,
                caches=[say("kind.caches_writes", write_s=7e-3)],
                reorders=[say("kind.reorders", gain=2.26, depth=31)],
            ),
            "This looks like a mechanical disk: a random read costs 480 µs, and queueing makes"
            " reads 2.26 times as fast at queue depth 31, as reordering does; a random write "
            "costs only 7.00 ms, as it does behind a write cache or where writes are collected "
            "in one place.",
        ),
        (
            say(
                "advice.queueing_gains_nothing_more",
                operation="write",
                depth=31,
                written=41.1e9,
                gain=(1.08, (1.05, 1.12)),
            ),
            "Random writes gain nothing from 31 outstanding requests once 41.1 GB have been "
            "written: 1.08 times (1.05 to 1.12) the rate of one at a time.",
        ),
        (
            say(
                "advice.cheap",
                operation="read",
                cost=(9e-5, None),
                half=say("advice.half_as_measured", bytes=65536),
            ),
            "Random reads are cheap: 90.0 µs each, and requests of 64 KiB (as measured, since "
            "the access model fails here) reach half the read rate.",
        ),
        (
            say("feels.uneven", **BEGINS, one_in=10, worst=0.2),
            "At its end it feels uneven: about one second in 10 delivers less than half the "
            "usual rate, the worst 20.0 % of the mean. It is then 8.25 % as fast as at its "
            "fastest.",
        ),
        (
            say(
                "steadiness.left",
                who="It",
                more=[],
                ends=[say("steadiness.ends", judged=JUDGED)],
                changes=[
                    say("steadiness.began", **LEFT),
                    say("steadiness.was_steady", steady_from=1200, **STEADY),
                ],
            ),
            "It began at 24,000 IOPS and left that level after 60 seconds: it fell by 75.0 %, "
            "and the mean from there on is 6,000, then was steady at 6,000 IOPS from second "
            "1,200 on and left its steady state after 60 seconds: it fell by 75.0 %, and the "
            "mean from there on is 6,000. At its end it is not known to be steady: 32.8 GB "
            "were written, but the drive may have had erased flash for 115 GB, spare area "
            "included.",
        ),
        (
            together([FEW, say("queue_depth.only", depth=8)]),
            "The rate rests on 3 requests of 512 MiB. Only queue depth 8 was measured.",
        ),
        (
            say(
                "artefact_cpu_contention.seen",
                parts=[
                    say("artefact_cpu_contention.waited", share=0.1),
                    say("artefact_cpu_contention.others", share=0.5),
                ],
            ),
            "An issuing thread waited for a processor 10.0 % of the time and other programs "
            "used 50.0 % of all processors.",
        ),
        (
            say(
                "spec_sheet.rows",
                rows=[
                    say(
                        "spec_sheet.row",
                        title="Large reads",
                        value=(1.31e8, (1.3e8, 1.32e8)),
                        unit="B/s",
                    ),
                    say("spec_sheet.row", title="longest stall", value=(3.0, None), unit="s"),
                ],
            ),
            "Large reads: 131 MB/s (130 to 132 MB/s); longest stall: 3.00 s.",
        ),
        (
            say(
                "sustained_rate.sustains",
                arrivals="Poisson arrivals",
                offered=5000.0,
                latency_s=8e-3,
                limit=say("sustained_rate.limit", percent=99.9, limit_s=0.01),
                beyond=say("sustained_rate.late", offered=6000.0, latency_s=0.02),
            ),
            "With Poisson arrivals the drive sustains 5,000 I/Os a second with 99.9 % of the "
            "I/Os within 10 ms (8.00 ms); at 6,000 it takes 20.0 ms.",
        ),
    ],
)
def test_sentences_read_like_this(said: Said, words: str) -> None:
    assert sentence(said) == words
