//! Programs that are drives, and programs that are none.

use fourcorners_foreign::{Command, ForeignDrive, ForeignError, Outcome, conformance};
use fourcorners_target::Target;
use fourcorners_workload::{Content, Operation, Request};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const READ: Request = Request {
    operation: Operation::Read,
    offset_bytes: 8192,
    length_bytes: 4096,
    content: Content::Incompressible,
    fua: false,
};

fn command(words: &[&str]) -> Command {
    Command {
        program: words[0].into(),
        arguments: words[1..].iter().map(|word| (*word).into()).collect(),
    }
}

fn reference(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name)
}

/// The reference child in C, compiled anew for each test.
fn compiled(test: &str) -> PathBuf {
    let program = std::env::temp_dir().join(format!("fourcorners-{}-{test}", std::process::id()));
    let status = std::process::Command::new("cc")
        .args(["-O2", "-o"])
        .arg(&program)
        .arg(reference("drive.c"))
        .status()
        .expect("a C compiler");
    assert!(status.success());
    program
}

fn error_of(words: &[&str]) -> ForeignError {
    ForeignDrive::start_within(&command(words), 1, Duration::from_secs(1)).unwrap_err()
}

fn latency_ns(drive: &mut ForeignDrive) -> u64 {
    drive.prepare(1, 4096).unwrap();
    let begin_ns = drive.submit(0, &READ);
    let mut done = Vec::new();
    drive.wait(u64::MAX, &mut done).unwrap();
    assert_eq!(done.len(), 1);
    done[0].completed_ns - begin_ns
}

#[test]
fn both_reference_children_are_the_same_drive() {
    let program = compiled("same");
    let mut c = ForeignDrive::start(&command(&[program.to_str().unwrap()]), 1).unwrap();
    let python = reference("drive.py");
    let mut py = ForeignDrive::start(&command(&["python3", python.to_str().unwrap()]), 1).unwrap();
    assert!(c.identity().rings);
    assert!(!py.identity().rings);
    for drive in [&mut c, &mut py] {
        assert_eq!(latency_ns(drive), 60_000);
        drive.idle(1_000_000).unwrap();
        assert_eq!(drive.now_ns(), 1_060_000);
        drive.trim(0, 4096).unwrap();
        drive.purge().unwrap();
        assert_eq!(drive.power_cut(), Ok(vec![]));
        drive.write_zeroes(4096, 1 << 20).unwrap();
        assert_eq!(drive.meters().flash_programmed_bytes, Some(0));
        assert!(drive.identity().truths.contains("parallel_units"));
    }
    std::fs::remove_file(program).unwrap();
}

#[test]
fn programs_that_are_no_drives_are_told_apart_in_one_sentence() {
    assert!(matches!(error_of(&["/no/such/program"]), ForeignError::Start { .. }));
    assert!(matches!(error_of(&["true"]), ForeignError::Ended { .. }));
    assert!(matches!(error_of(&["cat"]), ForeignError::Protocol(_)));
    assert!(matches!(error_of(&["yes"]), ForeignError::Protocol(_)));
    assert!(matches!(error_of(&["sleep", "30"]), ForeignError::Hangs { .. }));
    let words = error_of(&["sh", "-c", "echo the disk is full >&2; exit 3"]).to_string();
    assert!(words.contains("exit status: 3") && words.contains("the disk is full"), "{words}");
}

/// A child over pipes that greets, goes on to time 0 as it has to, and answers the first step
/// after that as `answer` says.
fn misbehaving(answer: &str) -> ForeignError {
    let script = format!(
        r#"
import struct, sys, time
record = lambda kind, slot, at, a=0: struct.pack("<BBBBIQQQ", kind, 0, 0, 0, slot, at, a, 0)
sys.stdin.buffer.readline()
out = sys.stdout.buffer
out.write(b'{{"fourcorners_drive":1,"name":"x","capacity_bytes":1048576}}\n' + record(32, 0, 0, 9))
out.flush()
sys.stdin.buffer.read(96)
{answer}
out.flush()
time.sleep(60)
"#
    );
    let command = command(&["python3", "-c", &script]);
    let mut drive = ForeignDrive::start(&command, 1).unwrap();
    drive.prepare(1, 4096).unwrap();
    drive.submit(0, &READ);
    let mut done = Vec::new();
    let error = drive.wait(1_000_000, &mut done).unwrap_err();
    // What is broken stays broken, and says the same.
    assert_eq!(drive.wait(2_000_000, &mut done).unwrap_err(), error);
    assert!(!error.to_string().contains('\n'));
    drive.idle(1).unwrap_err()
}

#[test]
fn a_child_that_is_wrong_is_one_sentence() {
    let cases = [
        ("out.write(record(33, 1, 5) + record(32, 0, 5))", "nothing is outstanding under slot 1"),
        ("out.write(record(33, 0, 5) * 2 + record(32, 0, 5))", "nothing is outstanding under"),
        ("out.write(record(33, 0, 9) + record(32, 0, 5))", "its clock goes back, from 9 to 5"),
        ("out.write(record(33, 0, 5) + record(32, 0, 9, 9))", "a request completed at 5 ns"),
        ("out.write(record(33, 0, 5) + record(32, 0, 5, 8))", "into flash becomes less"),
        ("out.write(record(32, 0, 5))", "with nothing completed"),
        ("out.write(record(33, 0, 2000000))", "it was to stop at 1000000 ns"),
        ("out.write(record(77, 0, 5))", "a record of kind 77"),
        ("out.write(b'garbage' * 100)", "breaks the protocol"),
        (
            r"out.write(b'gc run\n' + record(33, 0, 5))",
            "prints to its standard output, which belongs",
        ),
        ("sys.exit('out of memory')", "out of memory"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "signal: 9"),
    ];
    for (answer, expected) in cases {
        let error = misbehaving(answer).to_string();
        assert!(error.contains(expected), "{answer}: {error}");
    }
}

#[test]
fn a_child_that_hangs_is_not_waited_for_any_longer() {
    let script = r#"printf '{"fourcorners_drive":1,"name":"x","capacity_bytes":512}\n'; sleep 60"#;
    let begin = Instant::now();
    let command = command(&["sh", "-c", script]);
    let error = ForeignDrive::start_within(&command, 1, Duration::from_secs(1)).unwrap_err();
    assert!(error.to_string().contains("has not answered for 1 s"), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(20));
}

/// A child whose clock goes on, and which completes nothing.
fn forgetting() -> ForeignDrive {
    let script = r#"
import struct, sys
out = sys.stdout.buffer
sys.stdin.buffer.readline()
out.write(b'{"fourcorners_drive":1,"name":"x","capacity_bytes":1048576}\n')
while True:
    kind, at = struct.unpack("<B7xQ16x", sys.stdin.buffer.read(32))
    if kind == 16:
        out.write(struct.pack("<BBBBIQQQ", 32, 0, 0, 0, 0, at, 9, 0))
    out.flush()
"#;
    let mut drive = ForeignDrive::start(&command(&["python3", "-c", script]), 1).unwrap();
    drive.prepare(1, 4096).unwrap();
    drive
}

#[test]
fn a_request_that_never_completes_ends_the_wait_although_the_clock_goes_on() {
    let mut drive = forgetting();
    // A drive that is idle may be so for long.
    drive.idle(10_000_000_000_000).unwrap();
    let begin_ns = drive.submit(0, &READ);
    let mut done = Vec::new();
    drive.wait(begin_ns + 500_000_000_000, &mut done).unwrap();
    let error = drive.wait(begin_ns + 700_000_000_000, &mut done).unwrap_err().to_string();
    assert!(
        error.contains("it completes nothing: 1 outstanding, and none was done in 700 s"),
        "{error}"
    );
}

#[test]
fn a_request_that_is_forgotten_is_told_without_a_time_that_never_comes() {
    let mut drive = forgetting();
    drive.submit(0, &READ);
    let error = drive.wait(u64::MAX, &mut Vec::new()).unwrap_err().to_string();
    assert!(
        error.contains("1 outstanding, and it was asked to go on until one is done"),
        "{error}"
    );
}

fn failures(words: &[&str]) -> Vec<(&'static str, String)> {
    let folder = std::env::temp_dir().join(format!("fourcorners-{}-states", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let checks = conformance(&command(words), 1, Duration::from_secs(60), &folder);
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(checks.len(), 13);
    let failed = checks.into_iter().filter_map(|check| match check.outcome {
        Outcome::Passed => None,
        Outcome::NotOffered | Outcome::NotMade => panic!("{} was not checked", check.wanted),
        Outcome::Failed(why) => Some((check.wanted, why)),
    });
    failed.collect()
}

#[test]
fn the_reference_children_conform_and_what_breaks_one_is_found() {
    let program = compiled("conform");
    assert_eq!(failures(&[program.to_str().unwrap()]), []);
    std::fs::remove_file(program).unwrap();
    let mut text = std::fs::read_to_string(reference("drive.py")).unwrap();
    for (from, to) in [
        ("import sys\n", "import sys, time\n"),
        ("service_ns = 60_000", "service_ns = 50_000 + time.time_ns() % 9_999"),
        (r#""lost": []"#, r#""lost": [[0, 512]]"#),
        ("if kind in (TRIM,", "if kind == TRIM: sys.exit('no TRIM')\n        if kind in (TRIM,"),
    ] {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    let found = failures(&["python3", "-c", &text]);
    let wanted = ["same seed", "TRIM", "loss of power", "a state"];
    assert_eq!(found.len(), wanted.len(), "{found:?}");
    for ((check, why), part) in found.iter().zip(wanted) {
        assert!(check.contains(part), "{check}: {why}");
    }
    assert!(found[1].1.contains("its last words: no TRIM"), "{}", found[1].1);
    assert!(found[2].1.contains("lost bytes 0 to 512"), "{}", found[2].1);
}

#[test]
fn of_a_program_that_does_not_greet_nothing_else_is_checked() {
    let folder = std::env::temp_dir();
    let begin = Instant::now();
    let checks = conformance(&command(&["sleep", "30"]), 1, Duration::from_secs(1), &folder);
    assert!(begin.elapsed() < Duration::from_secs(10));
    let why = "the drive's program has not answered for 1 s";
    assert!(matches!(&checks[0].outcome, Outcome::Failed(said) if said.starts_with(why)));
    assert_eq!(checks.len(), 13);
    assert!(checks[1..].iter().all(|check| check.outcome == Outcome::NotMade));
}

#[test]
fn a_child_ends_with_its_owner() {
    let begin = Instant::now();
    let python = reference("drive.py");
    drop(ForeignDrive::start(&command(&["python3", python.to_str().unwrap()]), 1).unwrap());
    let text = std::fs::read_to_string(&python).unwrap();
    let deaf =
        text.replace("                return\n", "                import time; time.sleep(60)\n");
    assert_ne!(deaf, text);
    let mut drive = ForeignDrive::start(&command(&["python3", "-c", &deaf]), 1).unwrap();
    assert!(!drive.close());
    assert!(begin.elapsed() < Duration::from_secs(20));
}
