//! What goes wrong with a served drive on purpose, in virtual time: that it does, when it
//! should, and how it ends.

mod support;

use fourcorners_serve::{Command, DeviceFault, Finished, Served};
use fourcorners_target::NoopTarget;
use serde_json::json;
use support::{SECOND_NS, VECTOR, content, drive, fault, io, serve, served, write};

#[test]
fn faults_meet_the_ios_that_they_are_about() {
    let mut drive = NoopTarget::new(1 << 30, 1_000);
    let mut served = served(&mut drive);
    let mut now_ns = 0;
    let add = |served: &mut Served<'_>, value| served.add_fault(fault(value)).unwrap();
    // A read error, once, in a range.
    let id = add(
        &mut served,
        json!({"kind": "io-error", "on": "read", "offset_bytes": 8192, "length_bytes": 4096,
               "times": 1}),
    );
    assert_eq!(serve(&mut served, &mut now_ns, io(1, Command::Read, 0..8192)), 0);
    assert_eq!(serve(&mut served, &mut now_ns, write(2, 8192..12_288, 5)), 0);
    assert_eq!(serve(&mut served, &mut now_ns, io(3, Command::Read, 4096..16_384)), 5);
    assert_eq!(serve(&mut served, &mut now_ns, io(4, Command::Read, 4096..16_384)), 0);
    assert!(served.clear_faults(Some(id), now_ns));
    // A latent error, until it is written.
    add(&mut served, json!({"kind": "latent-error", "offset_bytes": 8192, "length_bytes": 1024}));
    assert_eq!(serve(&mut served, &mut now_ns, io(5, Command::Read, 8192..12_288)), 5);
    assert_eq!(serve(&mut served, &mut now_ns, write(6, 8192..8704, 6)), 0);
    assert_eq!(serve(&mut served, &mut now_ns, io(7, Command::Read, 8192..12_288)), 5);
    assert_eq!(serve(&mut served, &mut now_ns, write(8, 8704..9216, 7)), 0);
    assert_eq!(serve(&mut served, &mut now_ns, io(9, Command::Read, 8192..12_288)), 0);
    // Silent corruption.
    for (cookie, kind) in (10..).zip(["lost-write", "bit-flip", "torn-write", "misplaced-write"]) {
        assert_eq!(serve(&mut served, &mut now_ns, write(cookie, 0..8192, 1)), 0);
        let mut one = json!({"kind": kind, "times": 1});
        if kind == "misplaced-write" {
            one["distance_bytes"] = json!(8192);
        }
        add(&mut served, one);
        assert_eq!(serve(&mut served, &mut now_ns, write(cookie, 0..8192, 2)), 0);
        let found = content(&mut served, 0..8192);
        let changed = found.iter().filter(|&&byte| byte != 2).count();
        match kind {
            "lost-write" | "misplaced-write" => assert!(found == vec![1; 8192], "{kind}"),
            "bit-flip" => assert_eq!(changed, 1),
            _ => assert!(changed % 512 == 0 && changed > 0, "torn after {changed}"),
        }
        if kind == "misplaced-write" {
            assert!(content(&mut served, 8192..16_384) == vec![2; 8192]);
        }
        served.clear_faults(None, now_ns);
    }
    add(&mut served, json!({"kind": "stale-read", "times": 1}));
    assert_eq!(serve(&mut served, &mut now_ns, write(20, 0..4096, 9)), 0);
    assert!(content(&mut served, 0..4096) == vec![1; 4096]);
    assert!(content(&mut served, 0..4096) == vec![9; 4096]);
    // The end of life.
    add(&mut served, json!({"kind": "end-of-life"}));
    assert_eq!(serve(&mut served, &mut now_ns, write(21, 0..4096, 9)), 1);
    assert_eq!(serve(&mut served, &mut now_ns, io(22, Command::Flush, 0..0)), 0);
    assert_eq!(served.finish().events().3.len(), 5);
}

#[test]
fn faults_of_time_hold_answers_back() {
    let mut drive = NoopTarget::new(1 << 30, 1_000);
    let mut served = served(&mut drive);
    let mut now_ns = 0;
    let took = |served: &mut Served<'_>, now_ns: &mut u64, cookie| {
        let before_ns = *now_ns;
        serve(served, now_ns, io(cookie, Command::Read, 0..1 << 20));
        *now_ns - before_ns
    };
    served.add_fault(fault(json!({"kind": "slow", "delay_ns": 5_000_000, "times": 1}))).unwrap();
    assert_eq!(took(&mut served, &mut now_ns, 1), 5_100_000);
    assert_eq!(took(&mut served, &mut now_ns, 2), 100_000);
    served
        .add_fault(fault(
            json!({"kind": "throttle", "rate_bytes_per_s": 100 << 20, "for_ns": SECOND_NS}),
        ))
        .unwrap();
    assert_eq!(took(&mut served, &mut now_ns, 3), 10_100_000);
    served.clear_faults(None, now_ns);
    let at_ns = now_ns + 1_000_000;
    served
        .add_fault(fault(json!({"kind": "stall", "at_ns": at_ns, "for_ns": 50_000_000})))
        .unwrap();
    assert_eq!(took(&mut served, &mut now_ns, 4), 100_000);
    now_ns += 1_000_000;
    served.advance(now_ns, &mut Vec::new()).unwrap();
    assert!(took(&mut served, &mut now_ns, 5) > 45_000_000);
    // What hangs fails when the fault is cleared.
    served.add_fault(fault(json!({"kind": "hang"}))).unwrap();
    served.submit(io(6, Command::Read, 0..4096));
    let mut finished = Vec::new();
    now_ns += 3_600 * SECOND_NS;
    served.advance(now_ns, &mut finished).unwrap();
    assert_eq!((finished.len(), served.unanswered()), (0, 1));
    served.clear_faults(None, now_ns);
    served.advance(now_ns, &mut finished).unwrap();
    assert_eq!(finished[0].errno, 5);
}

#[test]
fn what_would_hang_fails_at_its_end_when_the_fault_is_cleared_before() {
    let mut drive = NoopTarget::new(1 << 30, 1_000);
    let mut served = served(&mut drive);
    served.add_fault(fault(json!({"kind": "hang"}))).unwrap();
    served.submit(io(1, Command::Read, 0..4096));
    let mut finished = Vec::new();
    served.shut_down(&mut finished).unwrap();
    let errnos: Vec<_> =
        finished.iter().filter(|one| one.cookie == 1).map(|one| one.errno).collect();
    assert_eq!(errnos, [5]);
    assert_eq!(served.unanswered(), 0);
}

#[test]
fn a_power_cut_that_is_due_with_a_trim_happens() {
    let mut drive = drive(VECTOR, &[]);
    let mut served = served(&mut drive);
    let cut = fault(json!({"kind": "power-cut", "on": "write", "from_io": 2}));
    served.add_fault(cut).unwrap();
    let mut now_ns = 0;
    assert_eq!(serve(&mut served, &mut now_ns, write(1, 0..8192, 1)), 0);
    assert_eq!(served.submit(io(2, Command::Trim, 0..4096)), None);
    let happens = served.advance(now_ns + 1, &mut Vec::new());
    assert_eq!(happens, Ok(Some(DeviceFault::PowerCut(None))));
}

#[test]
fn a_fault_that_can_never_act_is_refused() {
    let never = [
        (json!({"kind": "io-error", "times": 0}), "0 times is never"),
        (json!({"kind": "power-cut", "times": 0}), "0 times is never"),
        (json!({"kind": "io-error", "probability": 0.0}), "above 0"),
        (json!({"kind": "io-error", "probability": 1.5}), "above 0"),
        (json!({"kind": "io-error", "from_io": 0}), "counted from 1"),
        (json!({"kind": "io-error", "length_bytes": 0}), "range is empty"),
        (json!({"kind": "io-error", "for_ns": 0}), "over before anything happens"),
        (json!({"kind": "stall", "for_ns": 0}), "over before anything happens"),
        (json!({"kind": "io-error", "on": "flush", "offset_bytes": 512}), "flush has no range"),
        (json!({"kind": "hang", "on": "flush", "length_bytes": 512}), "flush has no range"),
        (json!({"kind": "throttle", "on": "flush", "rate_bytes_per_s": 1}), "flush has no data"),
        (json!({"kind": "latent-error", "on": "write"}), "about reads"),
        (json!({"kind": "end-of-life", "on": "read"}), "about writes"),
        (json!({"kind": "power-cut", "times": 2}), "once at its time"),
        (json!({"kind": "io-error", "delay_ns": 5}), "only slow has a delay"),
        (json!({"kind": "slow", "delay_ns": 5, "rate_bytes_per_s": 5}), "only throttle has a rate"),
        (json!({"kind": "lost-write", "distance_bytes": 512}), "only misplaced-write"),
        (json!({"kind": "misplaced-write", "distance_bytes": 0}), "whole sectors"),
        (json!({"kind": "slow", "delay_ns": u64::MAX}), "1e9 s at most"),
        (json!({"kind": "slow"}), "delay"),
        (json!({"kind": "gone"}), "how long"),
    ];
    let mut drive = drive(VECTOR, &[]);
    let mut served = served(&mut drive);
    for (one, why) in never {
        let refused = served.add_fault(fault(one.clone())).unwrap_err();
        assert!(refused.contains(why), "{one}: {refused}");
    }
    for some in [
        json!({"kind": "power-cut", "for_ns": 0}),
        json!({"kind": "gone", "for_ns": 0}),
        json!({"kind": "power-cut", "on": "write", "times": 3}),
        json!({"kind": "latent-error", "on": "read", "probability": 1e-9}),
    ] {
        served.add_fault(fault(some)).unwrap();
    }
}

#[test]
fn what_changes_data_waits_for_a_write_that_brings_some() {
    let mut drive = drive(VECTOR, &[]);
    let mut served = served(&mut drive);
    let mut now_ns = 0;
    served.add_fault(fault(json!({"kind": "lost-write", "times": 1}))).unwrap();
    assert_eq!(serve(&mut served, &mut now_ns, io(1, Command::Trim, 0..8192)), 0);
    let zeroes = Command::Zero { may_discard: false };
    assert_eq!(serve(&mut served, &mut now_ns, io(2, zeroes, 0..8192)), 0);
    assert_eq!(serve(&mut served, &mut now_ns, write(3, 0..4096, 3)), 0);
    assert_eq!(serve(&mut served, &mut now_ns, write(4, 4096..8192, 4)), 0);
    assert_eq!(content(&mut served, 0..8192), [[0; 4096], [4; 4096]].concat());
}

#[test]
fn a_fault_ends_with_what_it_holds_back_and_no_other_does() {
    let mut drive = NoopTarget::new(1 << 30, 1_000);
    let mut served = served(&mut drive);
    let mut finished = Vec::new();
    let add = |served: &mut Served<'_>, value| served.add_fault(fault(value)).unwrap();
    let hang = add(&mut served, json!({"kind": "hang", "times": 1}));
    let stall = add(&mut served, json!({"kind": "stall", "for_ns": 3600 * SECOND_NS}));
    let slow = add(&mut served, json!({"kind": "slow", "delay_ns": SECOND_NS, "on": "flush"}));
    served.advance(0, &mut finished).unwrap();
    served.submit(io(1, Command::Read, 0..4096));
    served.submit(io(2, Command::Read, 0..4096));
    served.submit(io(3, Command::Flush, 0..0));
    served.advance(1_000_000, &mut finished).unwrap();
    // What is no fault, and one that holds back nothing.
    assert!(!served.clear_faults(Some(99), 1_000_000));
    assert!(served.clear_faults(Some(slow), 1_000_000));
    served.advance(2_000_000, &mut finished).unwrap();
    assert_eq!((finished.len(), served.unanswered()), (0, 3));
    assert!(served.clear_faults(Some(stall), 2_000_000));
    served.advance(2_000_000, &mut finished).unwrap();
    let told = |finished: &[Finished]| {
        finished.iter().map(|one| (one.cookie, one.errno, one.completed_ns)).collect::<Vec<_>>()
    };
    assert_eq!(told(&finished), [(2, 0, 2_000_000)]);
    served.advance(SECOND_NS + 1_000, &mut finished).unwrap();
    assert_eq!(told(&finished[1..]), [(3, 0, SECOND_NS + 1_000)]);
    assert!(served.clear_faults(Some(hang), 2 * SECOND_NS));
    served.advance(2 * SECOND_NS, &mut finished).unwrap();
    assert_eq!(told(&finished[2..]), [(1, 5, 2 * SECOND_NS)]);
}

#[test]
fn of_what_meets_the_same_io_nothing_is_forgotten() {
    let mut drive = drive(VECTOR, &[]);
    for kinds in [["stall", "power-cut"], ["power-cut", "stall"], ["gone", "power-cut"]] {
        let mut served = served(&mut drive);
        for kind in kinds {
            let mut one = json!({"kind": kind, "on": "write"});
            if kind != "power-cut" {
                one["for_ns"] = json!(5);
            }
            served.add_fault(fault(one)).unwrap();
        }
        let happens = served.submit(write(1, 0..4096, 1));
        assert_eq!(happens, Some(DeviceFault::PowerCut(None)), "{kinds:?}");
        served.power_cut().unwrap();
    }
}

#[test]
fn a_latent_error_is_mended_by_any_number_of_writes() {
    let mut drive = NoopTarget::new(1 << 30, 1_000);
    let mut served = served(&mut drive);
    let mut now_ns = 0;
    served.add_fault(fault(json!({"kind": "latent-error"}))).unwrap();
    // Every other sector first, so that nothing can be put together.
    let sectors = 80_000;
    for sector in (0..sectors).step_by(2).chain((1..sectors).step_by(2)) {
        let range = sector * 512..(sector + 1) * 512;
        served.submit(write(sector as u64, range, 1));
        now_ns += 2_000;
        served.advance(now_ns, &mut Vec::new()).unwrap();
    }
    let all = io(1, Command::Read, sectors * 512 - (16 << 20)..sectors * 512);
    assert_eq!(serve(&mut served, &mut now_ns, all), 0);
    let beyond = io(2, Command::Read, (sectors - 1) * 512..(sectors + 1) * 512);
    assert_eq!(serve(&mut served, &mut now_ns, beyond), 5);
}
