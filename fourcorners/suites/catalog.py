"""The tests of the program, by name: from their files, and those whose measurements are found by
code because they depend on the target or on one another."""

from fourcorners.suites.probes import PROBES
from fourcorners.suites.snia import rounds, saturation
from fourcorners.suites.test_file import program_test
from fourcorners.suites.tests import latency_under_load, recovery, transfer_rate, transfer_size

APPLICATIONS = tuple(
    program_test(f"app-{name}", "applications")
    for name in (
        *("etcd-log", "postgresql", "mysql", "rocksdb", "kafka", "vdi-boot", "mail", "web"),
        *("video-recording", "backup", "restore", "game-loading", "office-heavy", "office-light"),
        "swap",
    )
)
"""Workloads of applications."""

TESTS = {
    definition.name: definition
    for definition in (
        program_test("four-corners"),
        program_test("queue-depth"),
        transfer_size.DEFINITION,
        program_test("consistency"),
        transfer_rate.DEFINITION,
        program_test("outstanding-ios"),
        program_test("atto"),
        program_test("write-cache"),
        program_test("access-time"),
        program_test("aligned-writes"),
        program_test("random-writes"),
        program_test("random-reads"),
        program_test("sequential"),
        program_test("sequential-fill"),
        program_test("block-size-matrix"),
        program_test("mix"),
        program_test("consistency-hour"),
        program_test("consistency-filled"),
        program_test("consistency-fill-data"),
        recovery.DEFINITION,
        program_test("latency"),
        latency_under_load.DEFINITION,
        program_test("sync-writes"),
        rounds.IOPS,
        rounds.THROUGHPUT,
        rounds.LATENCY,
        saturation.SATURATION,
        saturation.IDLE,
        saturation.CROSS,
        *APPLICATIONS,
        *PROBES,
    )
}
