"""A measurement that the host limits says so; one that the drive limits does not."""

import dataclasses

import fourcorners as fc
from fourcorners.recording import Recording
from fourcorners.suites.host_limit import host_limit

WORKLOAD = fc.Workload([fc.Stream.write("random", 4096, workers=2)], seconds=10)
IDLE = Recording(
    elapsed_s=10.0,
    mean_queue_depth=1.0,
    cpu_user_s=1.0,
    cpu_system_s=2.0,
    generating_s=0.5,
    interrupted=False,
    failure=None,
    operations={},
)


def test_the_busy_host_is_named_with_the_share_of_making_data() -> None:
    busy = dataclasses.replace(IDLE, cpu_user_s=9.0, cpu_system_s=10.0, generating_s=5.0)
    limit = host_limit(busy, WORKLOAD)
    assert limit is not None
    assert "95% of the time, 25% with making data" in limit


def test_a_host_that_waits_is_not_the_limit() -> None:
    assert host_limit(IDLE, WORKLOAD) is None


def test_a_simulated_drive_has_no_host() -> None:
    simulated = dataclasses.replace(IDLE, cpu_user_s=None, cpu_system_s=None, generating_s=None)
    assert host_limit(simulated, WORKLOAD) is None
