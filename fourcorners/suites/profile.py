"""How long the tests take: a look, the reviews' own durations, or a study."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Profile:
    """Durations in seconds and steps of the sweeps.

    ``quick`` bounds the tested part of real drives that have to be filled first
    (``filled_bytes_max``), so that it ends within minutes on any size of drive.
    """

    name: str
    random_corner_s: float
    sequential_corner_s: float
    queue_depth_s: float
    transfer_size_min_s: float
    transfer_size_max_s: float
    transfer_size_factor: int
    consistency_s: float
    filled_bytes_max: int | None


QUICK = Profile(
    name="quick",
    random_corner_s=4,
    sequential_corner_s=4,
    queue_depth_s=1.5,
    transfer_size_min_s=2,
    transfer_size_max_s=8,
    transfer_size_factor=4,
    consistency_s=40,
    filled_bytes_max=8 * 10**9,
)
# The reviews' durations: vertex3 (corners), sata (queue depth), vector (consistency); core does
# not state the transfer sizes' (see transfer_size.seconds_for).
STANDARD = Profile(
    name="standard",
    random_corner_s=180,
    sequential_corner_s=60,
    queue_depth_s=90,
    transfer_size_min_s=30,
    transfer_size_max_s=300,
    transfer_size_factor=2,
    consistency_s=2000,
    filled_bytes_max=None,
)
FULL = Profile(
    name="full",
    random_corner_s=600,
    sequential_corner_s=300,
    queue_depth_s=180,
    transfer_size_min_s=120,
    transfer_size_max_s=3000,
    transfer_size_factor=2,
    consistency_s=3600,
    filled_bytes_max=None,
)

PROFILES = {profile.name: profile for profile in (QUICK, STANDARD, FULL)}
