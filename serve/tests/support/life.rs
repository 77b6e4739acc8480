//! The life of a served drive in virtual time against a shadow copy: random I/O, faults of
//! every kind, losses of power, and restarts from its files.

use super::shadow::{Content, Shadow, bytes_of};
use super::{Draws, SECOND_NS, SECTOR, drive, io};
use fourcorners_serve::data::Data;
use fourcorners_serve::{Command, Corruption, DeviceFault, Finished, Io, Served};
use fourcorners_target::VirtualDrive;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// How a drive lives.
pub struct Life<'a> {
    /// The text of its file.
    pub drive: &'a str,
    pub settings: &'a [(&'a str, &'a str)],
    pub seed: u64,
    pub virtual_ns: u64,
    /// Bytes that it is written to, from its start.
    pub span_bytes: usize,
    /// Of the pauses between requests, which come one to three at a time.
    pub mean_pause_ns: u64,
    /// Of a session, which ends with a restart.
    pub mean_session_ns: u64,
    /// Steps between two faults.
    pub fault_every: u64,
}

/// What it met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Met {
    pub ios: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    pub failed_ios: u64,
    pub corrupted_writes: u64,
    pub power_cuts: u64,
    pub restarts: u64,
    /// Sectors whose latest acknowledged content a cut took, which was not durable.
    pub lost_sectors: u64,
}

/// Lives it, with the drive's data in a file of `folder`.
///
/// # Panics
/// Where the drive holds or returns what it should not.
pub fn live(life: &Life<'_>, folder: &Path) -> Met {
    let path = folder.join("data");
    let mut draws = Draws(life.seed);
    let mut shadow = Shadow::new(life.span_bytes / SECTOR);
    let mut met = Met::default();
    let mut state: Option<Vec<u8>> = None;
    let mut lived_ns = 0;
    while lived_ns < life.virtual_ns {
        let mut drive = drive(life.drive, life.settings);
        if let Some(state) = &state {
            drive.load(&state[..]).unwrap();
            met.restarts += 1;
        }
        let data = Data::in_file(&path, drive.capacity_bytes(), false).unwrap();
        let is_write_through = VirtualDrive::is_write_through(&drive);
        let until_ns = (lived_ns + 1 + draws.below(2 * life.mean_session_ns)).min(life.virtual_ns);
        let served = Served::new(&mut drive, data, draws.below(1 << 32)).unwrap();
        let start_ns = served.start_ns();
        let mut session = Session {
            now_ns: start_ns,
            served,
            shadow: &mut shadow,
            draws: &mut draws,
            met: &mut met,
            life,
            is_write_through,
            outstanding: BTreeMap::new(),
            corrupted: 0,
            distance: 0,
            alone: false,
            has_faults: false,
            finished: Vec::new(),
        };
        session.check_all();
        session.run(until_ns - lived_ns);
        lived_ns += session.now_ns - start_ns;
        drop(session);
        shadow.restarted();
        let mut saved = Vec::new();
        drive.save(&mut saved).unwrap();
        state = Some(saved);
    }
    met
}

struct Session<'s, 'd> {
    now_ns: u64,
    served: Served<'d>,
    shadow: &'s mut Shadow,
    draws: &'s mut Draws,
    met: &'s mut Met,
    life: &'s Life<'s>,
    is_write_through: bool,
    /// By cookie.
    outstanding: BTreeMap<u64, Outstanding>,
    /// Changed writes that were looked at.
    corrupted: usize,
    /// Of the latest misplaced writes.
    distance: u64,
    /// One request at a time, while writes may be stored where others are on their way.
    alone: bool,
    has_faults: bool,
    finished: Vec<Finished>,
}

struct Outstanding {
    io: Io,
    content: Content,
    /// Answers when it was submitted.
    answers: u64,
    /// Whether a fault may have met it.
    may_fail: bool,
}

impl Session<'_, '_> {
    fn run(&mut self, for_ns: u64) {
        let until_ns = self.now_ns + for_ns;
        let mut steps_to_fault = self.life.fault_every;
        while self.now_ns < until_ns {
            self.alone &= self.has_faults || !self.outstanding.is_empty();
            for _ in 0..1 + self.draws.below(3) {
                if self.outstanding.len() < if self.alone { 1 } else { 32 }
                    && let Some(fault) = self.ask()
                {
                    self.lose_power(fault);
                }
            }
            steps_to_fault -= 1;
            if steps_to_fault == 0 {
                steps_to_fault = 1 + self.draws.below(2 * self.life.fault_every);
                self.change_faults();
            }
            // Once in a while the drive has time for what it does of its own accord.
            let pause_ns = match self.draws.once_in(1000) {
                true => 100 * self.life.mean_pause_ns,
                false => self.draws.below(2 * self.life.mean_pause_ns),
            };
            self.advance(pause_ns);
        }
        if self.draws.once_in(3) {
            // The next session comes after a loss of power, and this one is not shut down.
            self.lose_power(DeviceFault::PowerCut(None));
            return;
        }
        let mut finished = Vec::new();
        self.served.shut_down(&mut finished).unwrap();
        finished.retain(|one| one.client == 0);
        self.finished = finished;
        self.answer();
        assert!(self.outstanding.is_empty(), "everything is answered before it ends");
    }

    fn advance(&mut self, for_ns: u64) {
        self.now_ns += for_ns;
        let fault = self.served.advance(self.now_ns, &mut self.finished).unwrap();
        self.answer();
        if let Some(fault) = fault {
            self.lose_power(fault);
        }
    }

    /// Submits a random request.
    fn ask(&mut self) -> Option<DeviceFault> {
        self.met.ios += 1;
        let cookie = self.met.ios;
        let sectors = self.life.span_bytes / SECTOR;
        let length = match self.draws.once_in(8) {
            true => 1 + self.draws.below(128),
            false => self.draws.one_of(&[1, 8, 8, 8, 16, 32]),
        } as usize;
        let start = self.draws.below((sectors - length) as u64) as usize;
        let range = start * SECTOR..(start + length) * SECTOR;
        // The order of what overlaps and is outstanding is anybody's.
        let overlaps = |one: &Outstanding| {
            let from = one.io.offset_bytes as usize;
            from < range.end && range.start < from + one.io.length_bytes as usize
        };
        let is_free = !self.outstanding.values().any(overlaps);
        let mut content = 0;
        let mut request = match self.draws.below(20) {
            0 => io(cookie, Command::Flush, 0..0),
            _ if !is_free => return None,
            1 => io(cookie, Command::Trim, range),
            2 => io(cookie, Command::Zero { may_discard: self.draws.once_in(2) }, range),
            3..=10 => io(cookie, Command::Read, range),
            _ => {
                content = cookie;
                let bytes =
                    (start..start + length).flat_map(|one| bytes_of(content, one)).collect();
                io(cookie, Command::Write(bytes), range)
            }
        };
        let is_write = matches!(request.command, Command::Write(_) | Command::Zero { .. });
        request.is_forced = is_write && self.draws.once_in(15);
        // What the shadow needs of it later; the drive keeps the data.
        let outline = Io {
            command: match &request.command {
                Command::Write(_) => Command::Write(Vec::new()),
                other => other.clone(),
            },
            ..request
        };
        let answers = self.shadow.answers();
        let may_fail = self.has_faults;
        self.outstanding.insert(cookie, Outstanding { io: outline, content, answers, may_fail });
        self.served.submit(request)
    }

    /// Takes the answers into the shadow.
    fn answer(&mut self) {
        let (_, _, _, corruptions) = self.served.tally().events();
        let listed = corruptions[self.corrupted..].to_vec();
        self.corrupted += listed.len();
        let mut fresh = listed.into_iter().peekable();
        let mut reads = Vec::new();
        for one in std::mem::take(&mut self.finished) {
            let outstanding = self.outstanding.remove(&one.cookie).expect("it was asked once");
            let Outstanding { io, content, answers, may_fail } = outstanding;
            if one.errno != 0 {
                assert!(may_fail, "request {} failed without a fault: {io:?}", one.cookie);
                self.met.failed_ios += 1;
                continue;
            }
            let offset = io.offset_bytes as usize;
            let sectors = offset / SECTOR..(offset + io.length_bytes as usize) / SECTOR;
            let is_durable = io.is_forced || self.is_write_through;
            match io.command {
                Command::Read => reads.push(io),
                Command::Flush => self.shadow.flushed(answers),
                // Without TRIM there is nothing to do.
                Command::Trim if !self.served.has_trim() => {}
                Command::Trim => self.shadow.written(sectors, 0, true),
                Command::Zero { may_discard } => {
                    let is_trim = may_discard && self.served.has_trim();
                    self.shadow.written(sectors, 0, is_durable || is_trim);
                }
                Command::Write(_) => {
                    self.met.written_bytes += u64::from(io.length_bytes);
                    let is_this = |one: &Corruption| {
                        (one.offset_bytes, one.length_bytes)
                            == (io.offset_bytes, u64::from(io.length_bytes))
                    };
                    match fresh.next_if(is_this) {
                        None => self.shadow.written(sectors, content, is_durable),
                        Some(corruption) => {
                            self.met.corrupted_writes += 1;
                            self.corrupted(sectors, content, is_durable, corruption.what);
                        }
                    }
                }
            }
        }
        assert!(fresh.next().is_none(), "a changed write that nobody was told of");
        reads.iter().for_each(|io| self.check_read(io));
    }

    fn check_read(&mut self, io: &Io) {
        self.met.read_bytes += u64::from(io.length_bytes);
        let mut bytes = vec![0; io.length_bytes as usize];
        self.served.read(io.offset_bytes, &mut bytes).unwrap();
        let difference = self.shadow.difference(io.offset_bytes as usize / SECTOR, &bytes);
        assert_eq!(difference, None, "a sector that does not hold what was written: {io:?}");
    }

    /// What is stored, beside the way of reads.
    fn stored(&self, sectors: &Range<usize>) -> Vec<u8> {
        let mut bytes = vec![0; sectors.len() * SECTOR];
        self.served.data().read((sectors.start * SECTOR) as u64, &mut bytes).unwrap();
        bytes
    }

    /// A write met a fault that changed its data: what is stored must be what the fault
    /// makes of it, and is what the sectors hold from now on.
    fn corrupted(&mut self, sectors: Range<usize>, content: Content, is_durable: bool, what: &str) {
        let bytes = self.stored(&sectors);
        let is_new: Vec<bool> = (sectors.clone().zip(bytes.chunks_exact(SECTOR)))
            .map(|(sector, bytes)| bytes_of(content, sector) == *bytes)
            .collect();
        let old = |shadow: &Shadow, from: usize| {
            shadow.holds_all(sectors.start + from, &bytes[from * SECTOR..])
        };
        match what {
            "lost-write" => assert!(old(self.shadow, 0), "nothing of it is stored"),
            "torn-write" => {
                let kept = is_new.iter().take_while(|&&is_new| is_new).count();
                assert!(old(self.shadow, kept), "its first sectors are stored, and no others");
            }
            "bit-flip" => {
                let flipped: u32 = (sectors.clone().zip(bytes.chunks_exact(SECTOR)))
                    .flat_map(|(sector, bytes)| {
                        let right = bytes_of(content, sector);
                        bytes
                            .iter()
                            .zip(right)
                            .map(|(a, b)| (a ^ b).count_ones())
                            .collect::<Vec<_>>()
                    })
                    .sum();
                assert_eq!(flipped, 1, "one bit of it is flipped");
            }
            "stale-read" => {
                assert!(is_new.iter().all(|&is_new| is_new), "it is stored");
                return self.shadow.written_stale(sectors, content, is_durable);
            }
            "misplaced-write" => {
                let distance = self.distance as usize / SECTOR;
                let place = sectors.start + distance..sectors.end + distance;
                let misplaced = self.stored(&place);
                let right = sectors.clone().flat_map(|sector| bytes_of(content, sector));
                assert!(misplaced.iter().copied().eq(right), "it is stored elsewhere");
                let inside = place.start.min(self.life.span_bytes / SECTOR)
                    ..place.end.min(self.life.span_bytes / SECTOR);
                self.shadow.found(sectors.clone(), &bytes, is_durable);
                let part = &misplaced[..inside.len() * SECTOR];
                return self.shadow.misplaced(inside, part, false);
            }
            other => panic!("an unknown fault: {other}"),
        }
        self.shadow.found(sectors.clone(), &bytes, is_durable);
    }

    /// Adds a fault, or ends all of them.
    fn change_faults(&mut self) {
        if self.has_faults {
            self.served.clear_faults(None, self.now_ns);
            // What hung because of it fails now.
            self.advance(0);
            self.has_faults = false;
            return;
        }
        let elapsed_ns = self.now_ns - self.served.start_ns();
        let span = self.life.span_bytes as u64;
        let offset = self.draws.below(span / 4096) * 4096;
        let times = 1 + self.draws.below(20);
        let kinds: &[&str] = &[
            "io-error",
            "latent-error",
            "bit-flip",
            "stale-read",
            "misplaced-write",
            "torn-write",
            "lost-write",
            "slow",
            "stall",
            "hang",
            "full-cache",
            "throttle",
            "end-of-life",
            "power-cut",
            "power-cut",
        ];
        let kind = self.draws.one_of(kinds);
        let mut fault: Value = json!({"kind": kind});
        let mut set = |name: &str, value: Value| fault[name] = value;
        match kind {
            "io-error" => set("probability", json!(0.3)),
            "latent-error" => {
                set("offset_bytes", json!(offset));
                set("length_bytes", json!(span / 16));
            }
            "slow" => set("delay_ns", json!(1 + self.draws.below(SECOND_NS))),
            "stall" => {
                set("at_ns", json!(elapsed_ns + self.draws.below(SECOND_NS)));
                set("for_ns", json!(1 + self.draws.below(3 * SECOND_NS)));
            }
            "throttle" => set("rate_bytes_per_s", json!(1_000_000)),
            "power-cut" if self.draws.once_in(2) => {
                set("at_ns", json!(elapsed_ns + self.draws.below(SECOND_NS)));
            }
            "power-cut" => {
                set("on", json!("write"));
                set("from_io", json!(1 + self.draws.below(50)));
            }
            "misplaced-write" => {
                let distance = 512 * (1 + self.draws.below(64));
                set("distance_bytes", json!(distance));
                set("times", json!(times));
                self.distance = distance;
            }
            "full-cache" | "end-of-life" => {}
            _ => set("times", json!(times)),
        }
        if kind == "misplaced-write" && !self.outstanding.is_empty() {
            // What is on its way might be where it stores.
            return;
        }
        self.alone = kind == "misplaced-write";
        self.served.add_fault(serde_json::from_value(fault).unwrap()).unwrap();
        self.has_faults = true;
        // What waits in the drive meets the fault as well.
        self.outstanding.values_mut().for_each(|one| one.may_fail = true);
    }

    fn lose_power(&mut self, fault: DeviceFault) {
        assert!(matches!(fault, DeviceFault::PowerCut(_)), "no other fault is of the device");
        self.met.power_cuts += 1;
        let cut = self.served.power_cut().unwrap();
        assert_eq!(cut.unacknowledged_ios as usize, self.outstanding.len());
        let outstanding = std::mem::take(&mut self.outstanding);
        let reached = |sector: usize, bytes: &[u8]| {
            outstanding.values().any(|one| {
                let from = one.io.offset_bytes as usize / SECTOR;
                (from..from + one.io.length_bytes as usize / SECTOR).contains(&sector)
                    && one.content != 0
                    && bytes_of(one.content, sector) == *bytes
            })
        };
        let all = self.stored(&(0..self.life.span_bytes / SECTOR));
        let (durable, acknowledged) = self.shadow.power_cut(&all, reached);
        assert_eq!(durable, 0, "sectors that were durable are lost");
        assert!(!self.is_write_through || acknowledged == 0, "it keeps what it acknowledges");
        self.met.lost_sectors += acknowledged;
        // What the power cut did not end is ended with it.
        self.served.clear_faults(None, self.now_ns);
        self.has_faults = false;
        self.advance(SECOND_NS);
    }

    fn check_all(&mut self) {
        let all = self.stored(&(0..self.life.span_bytes / SECTOR));
        let difference = self.shadow.difference(0, &all);
        assert_eq!(difference, None, "the drive that came back holds something else");
    }
}
