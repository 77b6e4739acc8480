//! What named parts of a workload did, each by itself, beside the whole.

use crate::Latencies;
use fourcorners_workload::Operation;

/// One operation of a job.
#[derive(Clone, Debug, Default)]
pub struct JobOperation {
    /// Successful I/Os.
    pub ios: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Failed I/Os.
    pub errors: u64,
    /// From when an I/O was due to its completion.
    pub latencies: Latencies,
}

/// The streams of one name.
#[derive(Clone, Debug)]
pub struct Job {
    /// What fio calls a job.
    pub name: String,
    /// When it began, from the start of measuring.
    pub start_ns: u64,
    /// Its latest completion, counted in the same way; where there was none, its start.
    pub end_ns: u64,
    /// By [`Operation::index`]; `None` of what it did not do.
    pub operations: [Option<Box<JobOperation>>; Operation::COUNT],
}

impl Job {
    /// One without I/Os that begins at `start_ns`.
    pub fn new(name: String, start_ns: u64) -> Self {
        Self { name, start_ns, end_ns: start_ns, operations: Default::default() }
    }

    /// Counts an I/O that took `latency_ns`, or failed.
    pub fn completed(
        &mut self,
        operation: Operation,
        bytes: u32,
        latency_ns: Option<u64>,
        completed_ns: u64,
    ) {
        self.end_ns = self.end_ns.max(completed_ns);
        let own = self.operations[operation.index()].get_or_insert_default();
        match latency_ns {
            Some(latency_ns) => {
                own.ios += 1;
                own.bytes += u64::from(bytes);
                own.latencies.record(latency_ns);
            }
            None => own.errors += 1,
        }
    }

    /// Adds what another worker counted of the same job.
    fn merge(&mut self, other: Job) {
        self.start_ns = self.start_ns.min(other.start_ns);
        self.end_ns = self.end_ns.max(other.end_ns);
        for (mine, theirs) in self.operations.iter_mut().zip(other.operations) {
            let Some(theirs) = theirs else { continue };
            let mine = mine.get_or_insert_default();
            mine.ios += theirs.ios;
            mine.bytes += theirs.bytes;
            mine.errors += theirs.errors;
            mine.latencies.merge(&theirs.latencies);
        }
    }

    /// Joins the jobs of two workers, those of one name to one.
    pub(crate) fn join(all: &mut Vec<Job>, others: Vec<Job>) {
        for other in others {
            match all.iter_mut().find(|known| known.name == other.name) {
                Some(known) => known.merge(other),
                None => all.push(other),
            }
        }
    }
}
