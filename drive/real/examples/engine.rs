//! Runs a workload (JSON) on a file, a device or the no-op target and prints what
//! was recorded as one line of JSON:
//! `engine PATH|noop WORKLOAD [ENGINE [SIZE_BYTES]]`. It serves comparisons with
//! other tools; people use the `fourcorners` command.

use fourcorners_execution::execute_parallel;
use fourcorners_real::{Access, Plan, RealFile};
use fourcorners_recording::{Latencies, Recording};
use fourcorners_target::NoopTarget;
use fourcorners_workload::{Operation, Workload};
use serde_json::{Value, json};
use std::error::Error;
use std::path::Path;
use std::time::Instant;

/// Of the no-op target: a terabyte that answers after a microsecond of virtual time.
const NOOP_BYTES: u64 = 1 << 40;
const NOOP_LATENCY_NS: u64 = 1_000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, workload, options @ ..] = arguments.as_slice() else {
        return Err("usage: engine PATH|noop WORKLOAD_JSON [ENGINE [SIZE_BYTES]]".into());
    };
    let workload = Workload::from_json(workload)?;
    let result = if path == "noop" {
        let open = || Ok(NoopTarget::new(NOOP_BYTES, NOOP_LATENCY_NS));
        let started = Instant::now();
        let recording = execute_parallel(&workload, NOOP_BYTES, open, &Default::default())?;
        described(&recording, started.elapsed().as_secs_f64(), json!({}))
    } else {
        on_file(path, &workload, options)?
    };
    println!("{result}");
    Ok(())
}

fn on_file(path: &str, workload: &Workload, options: &[String]) -> Result<Value, Box<dyn Error>> {
    let size_bytes = options.get(1).map(|size| size.parse()).transpose()?;
    let access = Access { size_bytes, ..Access::default() };
    let engine = options.first().map_or("auto", String::as_str).parse()?;
    let file = RealFile::open(Plan::examine(Path::new(path), &access)?)?.with_engine(engine)?;
    if let Some(reason) = file.plan().read_only_reason.as_ref().filter(|_| workload.writes()) {
        return Err(reason.clone().into());
    }
    let capacity_bytes = file.plan().capacity_bytes;
    let open = || Ok(file.target(workload.seed));
    let started = Instant::now();
    let recording = execute_parallel(workload, capacity_bytes, open, &Default::default())?;
    let wall_s = started.elapsed().as_secs_f64();
    let target = json!({ "path": path, "direct": file.plan().direct, "notes": file.notes() });
    Ok(described(&recording, wall_s, target))
}

fn described(recording: &Recording, wall_s: f64, target: Value) -> Value {
    let elapsed_s = recording.elapsed_ns as f64 / 1e9;
    let operations: Vec<_> = Operation::ALL
        .iter()
        .map(|operation| {
            let record = &recording.operations[operation.index()];
            json!({
                "operation": operation.name(),
                "ios": record.ios,
                "bytes": record.bytes,
                "iops": record.ios as f64 / elapsed_s,
                "latency_median_ns": percentile_ns(&record.latencies, 50.0),
                "latency_p99_ns": percentile_ns(&record.latencies, 99.0),
                "errors": record.errors,
            })
        })
        .collect();
    json!({
        "target": target, "wall_s": wall_s, "elapsed_s": elapsed_s, "operations": operations,
        "cpu_user_ns": recording.cpu.user_ns, "cpu_system_ns": recording.cpu.system_ns,
    })
}

/// Middle of the bucket that holds the percentile; buckets are at most 0.1 % wide.
fn percentile_ns(latencies: &Latencies, percent: f64) -> Option<u64> {
    let total: u64 = latencies.buckets().map(|(_, _, count)| count).sum();
    let mut seen = 0;
    latencies.buckets().find_map(|(low_ns, high_ns, count)| {
        seen += count;
        (seen as f64 >= percent / 100.0 * total as f64).then_some(low_ns.midpoint(high_ns))
    })
}
