//! What other systems than Linux have, tried on Linux too: see benches/other-systems.

#![cfg(any(not(target_os = "linux"), portable))]

mod support;

use fourcorners_execution::{Progress, execute};
use fourcorners_real::{Access, Plan, RealFile, Unprepared};
use fourcorners_target::Target;
use fourcorners_workload::{Content, Operation, Request};
use std::path::Path;
use support::*;

#[test]
fn requests_are_served_by_synchronous_calls_and_a_note_says_so() {
    let folder = Folder::new();
    let file = folder.own_file("test", 4 * MIB);
    for queue_depth in [1, 32] {
        let mut both = workload(0.5, 4096, queue_depth, ios(500));
        both.streams[0].flush_every_writes = Some(4);
        both.streams[0].fua = queue_depth == 1;
        let recording = execute(&both, &mut file.target(1), &Progress::default()).unwrap();
        let [reads, writes, flushes, ..] = &recording.operations;
        assert_eq!((reads.ios + writes.ios, recording.errors()), (500, 0));
        assert!(flushes.ios > 0);
    }
    let notes = file.notes().join("\n");
    assert!(notes.contains("only Linux has io_uring"), "{notes}");
    assert!(notes.contains("may include the page cache"), "{notes}");
}

#[test]
fn what_is_written_is_read_again() {
    let folder = Folder::new();
    let mut target = folder.own_file("test", MIB).target(1);
    target.prepare(1, 4096).unwrap();
    let mut serve = |operation, offset_bytes| {
        let request = Request {
            operation,
            offset_bytes,
            length_bytes: 4096,
            content: Content::Incompressible,
            fua: false,
        };
        target.submit(0, &request);
        let mut done = Vec::new();
        target.wait(u64::MAX, &mut done).unwrap();
        assert_eq!(done[0].errno, 0);
        target.read_data(0, 4096).unwrap().to_vec()
    };
    let written = [serve(Operation::Write, 0), serve(Operation::Write, 8192)];
    assert_ne!(written[0], written[1]);
    assert_eq!([serve(Operation::Read, 0), serve(Operation::Read, 8192)], written);
}

#[test]
fn an_own_file_is_known_again_and_a_foreign_one_must_be_named() {
    let folder = Folder::new();
    drop(folder.own_file("own", MIB));
    assert!(plan(&folder.path("own"), &Access::default()).unwrap().writable);
    let foreign = folder.foreign_file("foreign", MIB);
    assert!(!plan(&foreign, &Access::default()).unwrap().writable);
    let access = Access { overwrite: Some(foreign.clone()), ..Access::default() };
    let notes = plan(&foreign, &access).unwrap().notes.join("\n");
    assert!(notes.contains("does not tell whether"), "{notes}");
}

#[test]
fn what_there_is_only_on_linux_is_refused_in_a_sentence() {
    let error = Plan::examine(Path::new("/dev/null"), &Access::default()).unwrap_err().0;
    assert!(error.contains("only on Linux can fourcorners tell who uses one"), "{error}");
    let folder = Folder::new();
    let refused = |engine: &str| {
        let file = folder.own_file(&engine.replace(',', "-"), MIB);
        match file.with_engine(engine.parse().unwrap()) {
            Err(error) => error.0,
            Ok(file) => file.target(1).prepare(1, 4096).unwrap_err().0,
        }
    };
    for (engine, says) in [
        ("nvme", "is for Linux"),
        ("io_uring", "use the engine \"sync\""),
        ("sync,cpus=0", "cannot be bound"),
        ("sync,huge-pages", "only Linux has huge pages"),
    ] {
        let error = refused(engine);
        assert!(error.contains(says), "{engine}: {error}");
    }
    let mut file: RealFile = folder.own_file("purged", MIB);
    let Unprepared::Failed(error) = file.purge(LIMIT).unwrap_err() else { panic!("it hangs") };
    assert!(error.0.contains("cannot be purged this way"), "{error}");
}
