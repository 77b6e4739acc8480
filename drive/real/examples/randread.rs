//! Runs a workload (JSON) on a file or device and prints what was recorded as
//! one line of JSON: `randread PATH WORKLOAD [SIZE_BYTES]`. It serves
//! comparisons with other tools; people use the `fourcorners` command.

use fourcorners_execution::{Progress, execute_parallel};
use fourcorners_real::{Access, Plan, RealFile};
use fourcorners_recording::Latencies;
use fourcorners_workload::{Operation, Workload};
use serde_json::json;
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, workload, size @ ..] = arguments.as_slice() else {
        return Err("usage: randread PATH WORKLOAD_JSON [SIZE_BYTES]".into());
    };
    let workload: Workload = serde_json::from_str(workload)?;
    let size_bytes = size.first().map(|size| size.parse()).transpose()?;
    let access = Access { size_bytes, ..Access::default() };
    let file = RealFile::open(Plan::examine(Path::new(path), &access)?)?;
    let writes = workload.streams.iter().any(|stream| stream.read_fraction < 1.0);
    if let Some(reason) = file.plan().read_only_reason.as_ref().filter(|_| writes) {
        return Err(reason.clone().into());
    }
    let capacity_bytes = file.plan().capacity_bytes;
    let open = || Ok(file.target(workload.seed));
    let recording = execute_parallel(&workload, capacity_bytes, open, &Progress::default())?;
    let elapsed_s = recording.elapsed_ns as f64 / 1e9;
    let operations: Vec<_> = Operation::ALL
        .iter()
        .map(|operation| {
            let record = &recording.operations[operation.index()];
            json!({
                "operation": operation.name(),
                "ios": record.ios,
                "iops": record.ios as f64 / elapsed_s,
                "latency_median_ns": median_ns(&record.latencies),
                "errors": record.errors,
            })
        })
        .collect();
    let plan = file.plan();
    println!(
        "{}",
        json!({
            "path": plan.path, "direct": plan.direct, "notes": plan.notes,
            "elapsed_s": elapsed_s, "operations": operations,
            "cpu_user_ns": recording.cpu.user_ns, "cpu_system_ns": recording.cpu.system_ns,
        })
    );
    Ok(())
}

/// Middle of the bucket that holds the median; buckets are at most 0.1 % wide.
fn median_ns(latencies: &Latencies) -> Option<u64> {
    let total: u64 = latencies.buckets().map(|(_, _, count)| count).sum();
    let mut seen = 0;
    latencies.buckets().find_map(|(low_ns, high_ns, count)| {
        seen += count;
        (2 * seen >= total).then_some(low_ns.midpoint(high_ns))
    })
}
