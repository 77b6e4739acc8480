"""The access model against the blog's published figures and against known truth."""

import json

import numpy as np
import pytest
from analysis_fixture import (
    KIB,
    MIB,
    SIZES,
    FakeRun,
    access_seconds,
    cluster_seconds,
    codes,
    core_run,
    named,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from fourcorners.analysis import access_model, find
from fourcorners.analysis.access_model import AccessModel


@pytest.mark.parametrize(
    ("iops", "rate_mib", "penalty_ms"),
    [
        (2220, 125, "0.447"),
        (4.07, 72.768, "245.7"),
        (77.77, 85, "12.85"),
        (143, 85, "6.99"),
        (58.6, 85, "17.06"),
    ],
)
def test_time_left_seeking_gives_the_published_penalties(
    iops: float, rate_mib: float, penalty_ms: str
) -> None:
    penalty_s = access_model.time_left_seeking(iops, 512, rate_mib * MIB)
    decimals = len(penalty_ms.partition(".")[2])
    assert f"{penalty_s * 1e3:.{decimals}f}" == penalty_ms


def test_time_left_seeking_refuses_rates_that_are_none() -> None:
    with pytest.raises(ValueError, match="positive"):
        access_model.time_left_seeking(0, 512, MIB)


@pytest.mark.parametrize(
    ("iops", "rate_mib", "block_bytes", "predicted_mib"),
    [
        (2220, 125, 64 * KIB, 66.03),
        (2220, 125, MIB, 118.39),
        (2220, 125, 8 * MIB, 124.13),
        (77.77, 85, 64 * KIB, 4.60),
        (77.77, 85, 8 * MIB, 74.79),
        (77.77, 85, 256 * MIB, 84.64),
        (4.07, 72.768, MIB, 3.854),
        (4.07, 72.768, 64 * MIB, 56.88),
        (4.07, 72.768, 512 * MIB, 70.31),
    ],
)
def test_prediction_meets_the_check_values(
    iops: float, rate_mib: float, block_bytes: int, predicted_mib: float
) -> None:
    rate = rate_mib * MIB
    model = AccessModel(access_model.time_left_seeking(iops, 512, rate), rate)
    predicted = float(model.bytes_per_second(np.array([float(block_bytes)]))[0]) / MIB
    assert predicted == pytest.approx(predicted_mib, abs=0.006)


@pytest.mark.parametrize(
    ("iops", "rate_mib", "half_mib"),
    [(2220, 125, 0.0558), (77.77, 85, 1.0925), (4.07, 72.768, 17.88)],
)
def test_half_speed_sizes(iops: float, rate_mib: float, half_mib: float) -> None:
    rate = rate_mib * MIB
    model = AccessModel(access_model.time_left_seeking(iops, 512, rate), rate)
    assert model.half_speed_bytes / MIB == pytest.approx(half_mib, rel=1e-3)


def test_cluster_estimate_and_corrected_rates_of_the_blog() -> None:
    cluster = access_model.rewritten_block_bytes(0.2457, 72.768 * MIB, 125 * MIB)
    assert cluster / MIB == pytest.approx(11.3006, abs=5e-4)
    largest_s = 512 / 72.768
    for penalties, corrected in ((1, 75.40), (2, 78.23)):
        rate = access_model.rate_without_penalties(512 * MIB, largest_s, 0.2457, penalties)
        assert rate / MIB == pytest.approx(corrected, abs=0.01)


penalties = st.floats(20e-6, 0.3)
rates = st.floats(20e6, 3e9)


@settings(deadline=None)
@given(penalty_s=penalties, rate=rates)
def test_the_fit_recovers_exact_data(penalty_s: float, rate: float) -> None:
    fitted = access_model.fit(np.array(SIZES, float), access_seconds(penalty_s, rate))
    assert fitted.model.access_penalty_s == pytest.approx(penalty_s, rel=1e-4)
    assert fitted.model.sequential_rate_bytes_per_second == pytest.approx(rate, rel=1e-4)


@settings(deadline=None)
@given(penalty_s=penalties, rate=rates, noise=st.floats(0.001, 0.1), seed=st.integers(0, 2**32))
def test_the_fit_recovers_noisy_data_and_says_how_well(
    penalty_s: float, rate: float, noise: float, seed: int
) -> None:
    scatter = np.random.default_rng(seed).normal(0, noise, len(SIZES))
    seconds = access_seconds(penalty_s, rate) * np.exp(scatter)
    fitted = access_model.fit(np.array(SIZES, float), seconds)
    interval = fitted.access_penalty_interval_s
    assert interval is not None
    # A 90 % interval stretched fourfold holds always; one as wide as the truth says nothing.
    centre = np.log(fitted.model.access_penalty_s)
    half = np.log(interval[1]) - centre
    assert abs(np.log(penalty_s) - centre) <= 4 * half
    assert half < 10 * noise


def test_intervals_cover_as_often_as_they_say() -> None:
    rng = np.random.default_rng(20080725)
    penalty_s, rate = 0.0128, 85.0 * MIB
    truth = access_seconds(penalty_s, rate)
    covered = np.zeros(2)
    trials = 400
    for _ in range(trials):
        fitted = access_model.fit(
            np.array(SIZES, float), truth * np.exp(rng.normal(0, 0.03, len(SIZES)))
        )
        for i, (value, interval) in enumerate([
            (penalty_s, fitted.access_penalty_interval_s),
            (rate, fitted.sequential_rate_interval),
        ]):  # fmt: skip
            assert interval is not None
            covered[i] += interval[0] <= value <= interval[1]
    assert np.all(covered / trials > 0.85)
    assert np.all(covered / trials < 0.95)


def test_one_odd_size_does_not_bend_the_fit() -> None:
    seconds = access_seconds(0.01, 100e6)
    seconds[12] *= 3
    fitted = access_model.fit(np.array(SIZES, float), seconds)
    assert fitted.model.access_penalty_s == pytest.approx(0.01, rel=0.01)
    assert fitted.model.sequential_rate_bytes_per_second == pytest.approx(100e6, rel=0.01)


def test_the_fit_refuses_a_single_size() -> None:
    with pytest.raises(ValueError, match="two different"):
        access_model.fit(np.array([512.0, 512.0]), np.array([0.1, 0.2]))


def test_marginal_rate_is_free_of_the_largest_writes_penalties() -> None:
    sizes = np.array(SIZES, float)
    seconds = cluster_seconds(0.2457, 78.23 * MIB, 4 * MIB)
    assert access_model.marginal_rate(sizes, seconds) == pytest.approx(78.23 * MIB, rel=1e-9)
    seconds[-2] = 2 * seconds[-1]
    assert access_model.marginal_rate(sizes, seconds) is None


EXPLAINED = {"access_model.taxed_by_blocks", "access_model.block"}
"""That whole blocks are rewritten explains the cost of small writes."""


def test_reads_that_follow_the_model_hold_at_every_size() -> None:
    finding = named(find(core_run()), "access_model_read")
    assert finding.verdict == "measured"
    assert finding.value == pytest.approx(0.000447, rel=0.002)
    assert finding.interval is not None
    assert finding.value is not None
    assert finding.interval[0] < finding.value < finding.interval[1]
    assert finding.evidence[0] == "transfer-size/read/512"
    assert finding.detail["misfit_range_block_bytes"] is None
    assert "access_model.holds" in codes(core_run(), "access_model_read")
    assert "penalties_per_io" not in finding.detail


def test_writes_of_a_block_mapped_drive_pay_as_the_blog_says() -> None:
    finding = named(find(core_run()), "access_model_write")
    detail = finding.detail
    assert finding.value == pytest.approx(0.2457, rel=1e-3)
    assert detail["sequential_rate_bytes_per_second"] / MIB == pytest.approx(72.77, abs=0.01)
    low, high = detail["misfit_range_block_bytes"]
    assert low <= 4 * MIB <= high
    assert detail["relative_misfit"][SIZES.index(4 * MIB)] < -0.3
    assert detail["penalties_per_io"][0] == pytest.approx(1, abs=0.01)
    assert detail["penalties_per_io"][-1] == pytest.approx(2, abs=0.01)
    assert detail["cluster_bytes_estimate"] / MIB == pytest.approx(11.3, abs=0.02)
    assert detail["rate_without_two_penalties_bytes_per_second"] / MIB == pytest.approx(
        78.23, abs=0.02
    )
    said = {"measured", "fit", "fails", "range", "few", "circular", "taxed_by_blocks", "block"}
    assert codes(core_run(), "access_model_write") - {"any.together"} == {
        f"access_model.{code}" for code in said
    }


def test_cheap_writes_are_not_explained_by_rewritten_blocks() -> None:
    run = FakeRun()
    run.add_transfer_sizes("read", SIZES, access_seconds(12.85e-3, 85 * MIB))
    run.add_transfer_sizes("write", SIZES, access_seconds(6.99e-3, 85 * MIB))
    finding = named(find(run), "access_model_write")
    assert not EXPLAINED & codes(run, "access_model_write")
    assert np.nanmax(finding.detail["penalties_per_io"]) < 1.01
    # Penalties are a small part of large requests' time: nothing is said about those.
    assert finding.to_dict()["detail"]["penalties_per_io"][-1] is None


def disk_with_slower_middle(tax_s: float) -> set[str]:
    """What is said of a disk whose writes of 2 to 16 MiB cost ``tax_s`` more than modelled."""
    run = FakeRun()
    run.add_transfer_sizes("read", SIZES, access_seconds(12.85e-3, 85 * MIB))
    seconds = access_seconds(6.99e-3, 85 * MIB)
    seconds[SIZES.index(2 * MIB) : SIZES.index(32 * MIB)] += tax_s
    run.add_transfer_sizes("write", SIZES, seconds)
    return codes(run, "access_model_write")


def test_extra_penalties_have_no_cause_where_rewritten_blocks_are_unlikely() -> None:
    said = disk_with_slower_middle(7e-3)
    assert "access_model.taxed" in said
    assert not EXPLAINED & said


def test_extra_penalties_within_the_models_accuracy_are_not_told() -> None:
    assert not {"access_model.taxed", *EXPLAINED} & disk_with_slower_middle(2.5e-3)


def test_a_sweep_across_a_change_of_state_is_not_taken_at_face_value() -> None:
    run = FakeRun()
    seconds = access_seconds(40e-6, 400e6)
    seconds[SIZES.index(8 * MIB) :] *= 4
    run.add_transfer_sizes("write", SIZES, seconds)
    finding = named(find(run), "access_model_write")
    assert finding.detail["largest_is_outpaced"] is True
    said = codes(run, "access_model_write")
    assert "access_model.outpaced" in said
    assert not {"access_model.taxed", *EXPLAINED} & said
    summary = named(find(run), "summary")
    assert "cheap_writes" not in json.dumps(summary.to_dict())


def test_a_rate_that_rests_on_few_requests_says_so() -> None:
    run = FakeRun()
    run.add_transfer_sizes("read", SIZES, access_seconds(12.85e-3, 20 * MIB))
    assert "access_model.few" in codes(run, "access_model_read")


def test_too_few_sizes_and_missing_penalties_are_not_identifiable() -> None:
    run = FakeRun()
    run.add_transfer_sizes("read", [4096], np.array([1e-4]))
    run.add_transfer_sizes("write", [512, MIB], np.array([1e-6, 1.0]))
    findings = find(run)
    for operation in ("read", "write"):
        finding = named(findings, f"access_model_{operation}")
        assert finding.verdict == "not identifiable"
        assert finding.value is None


def test_two_sizes_give_a_model_without_fit_intervals() -> None:
    run = FakeRun()
    run.add_transfer_sizes("read", [512, MIB], access_seconds(1e-3, 1e8, [512, MIB]))
    detail = named(find(run), "access_model_read").detail
    assert detail["robust_fit"]["access_penalty_s"] == pytest.approx(1e-3, rel=1e-3)
    assert detail["robust_fit"]["access_penalty_interval_s"] is None
