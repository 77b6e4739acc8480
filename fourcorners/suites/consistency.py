"""The performance-consistency test of the OCZ Vector review: IOPS by the second."""

from fourcorners.suites.profile import Profile
from fourcorners.suites.test import Fill, Measurement, Phase, Purge, Subject, Test
from fourcorners.workload import Stream, Workload

NAME = "consistency"


def plan(subject: Subject, profile: Profile, seed: int) -> Test:
    """4 KiB random writes at queue depth 32 over all of a drive that was erased and filled."""
    area = subject.area_bytes(profile)
    stream = Stream.write("random", 4096, span_bytes=area, queue_depth=32)
    measurement = Measurement(
        f"{NAME}/write",
        "4 KiB random write, queue depth 32",
        Workload([stream], seconds=profile.consistency_s, seed=seed),
    )
    return Test(
        name=NAME,
        title="Consistency",
        source="vector",
        purpose="How fast, and how evenly, a full drive goes on writing once it has to clean up "
        "behind itself.",
        parameters={
            "block size": "4 KiB, random",
            "queue depth": "32",
            "span": subject.extent(area),
            "data": "incompressible",
            "time": f"{profile.consistency_s:g} s",
        },
        phases=(Phase((Purge(), Fill(area)), (measurement,)),),
    )
