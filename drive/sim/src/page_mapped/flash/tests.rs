//! Operations of one die, and of planes.

use super::*;

const US: u64 = 1_000;

/// One die with 50 us reads, and transfers that take no time to speak of.
fn one_die(suspend: Option<Suspend>) -> Flash {
    Flash {
        dies: vec![Die::idle(0, None)],
        due_ns: Timers::new(1),
        channel_free_ns: vec![0],
        read_ns: 50 * US,
        bus_rate: u64::MAX,
        suspend,
        lanes: Lanes { per_die: 1, dies_before: 1 },
        together: Together { reads: 1, programs: 1 },
        variation: None,
        plain: true,
        array_time: ArrayTime::default(),
    }
}

fn read() -> PageRead {
    PageRead { command: 0, bus_bytes: 0, host_bytes: 0 }
}

/// Handles events until the die is idle: when reads were delivered and when
/// background work was done.
fn play(flash: &mut Flash, reads_ns: &[u64]) -> (Vec<u64>, Vec<u64>) {
    let (mut delivered, mut done) = (Vec::new(), Vec::new());
    let mut reads_ns = reads_ns.iter().copied().peekable();
    loop {
        let event_ns = flash.next_event_ns();
        if let Some(read_ns) = reads_ns.next_if(|&read_ns| read_ns <= event_ns) {
            flash.read(read_ns, 0, read());
            continue;
        }
        if event_ns == NEVER_NS {
            return (delivered, done);
        }
        match flash.step() {
            (_, DieEvent::Underway) => {}
            (_, DieEvent::Delivered(_)) => delivered.push(event_ns),
            (_, DieEvent::Released(_)) => done.push(event_ns),
        }
    }
}

fn program_and_reads(suspend: Option<Suspend>, reads_ns: &[u64]) -> (Vec<u64>, Vec<u64>) {
    let mut flash = one_die(suspend);
    let work = BackgroundWork { bus_ns: 0, array_ns: 1_000_000, release_bytes: 1 };
    flash.work(0, 0, work);
    play(&mut flash, reads_ns)
}

const SUSPEND: Option<Suspend> = Some(Suspend { suspend_ns: 20 * US, resume_ns: 30 * US });

#[test]
fn a_read_waits_for_a_program_or_stops_it() {
    assert_eq!(program_and_reads(None, &[400 * US]), (vec![1_050 * US], vec![1_000 * US]));
    // 20 us to stop, 50 us to read; the program still needs 600 us, and 30
    // us to take up again.
    assert_eq!(program_and_reads(SUSPEND, &[400 * US]), (vec![470 * US], vec![1_100 * US]));
    // Reads that arrive meanwhile go before the program.
    let (delivered, done) = program_and_reads(SUSPEND, &[400 * US, 410 * US]);
    assert_eq!((delivered, done), (vec![470 * US, 520 * US], vec![1_150 * US]));
}

#[test]
fn a_program_near_its_end_is_not_stopped() {
    let (delivered, done) = program_and_reads(SUSPEND, &[985 * US]);
    assert_eq!((delivered, done), (vec![1_050 * US], vec![1_000 * US]));
}

#[test]
fn reads_without_end_leave_a_program_some_progress() {
    let reads_ns: Vec<u64> = (0..2_000).map(|read| read * 110 * US).collect();
    let (delivered, done) = program_and_reads(SUSPEND, &reads_ns);
    assert_eq!(delivered.len(), 2_000);
    assert!(done[0] < 20_000 * US, "done after {} us", done[0] / US);
}
