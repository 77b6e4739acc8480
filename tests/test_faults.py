"""Whatever happens to the device or the process: a valid document, the right exit code, no hang."""

from pathlib import Path

import pytest
from fault_runs import FAULTS, needs_loop_devices, run_with

# With seven faults some thirty runs; benches/fault_injection.py makes a thousand.
RUNS_EACH = 4


@pytest.mark.parametrize("seed", range(RUNS_EACH))
@pytest.mark.parametrize("fault", FAULTS)
def test_fault(fault: str, seed: int, tmp_path: Path) -> None:
    needs_loop_devices()
    run_with(fault, tmp_path / "run", seed)
