//! Serves a drive to programs: one thread that passes between its sockets and the
//! drive, and lets the drive's time pass as this machine's does.

mod resting;

use crate::attention::Attention;
use crate::awake::Awake;
use crate::clients::Clients;
use crate::clock::Clock;
use crate::control::Wish;
use crate::device::{About, Device};
use crate::injection::DeviceFault;
use crate::io::Finished;
use crate::listen::Listener;
use crate::nbd::Export;
use crate::saving::{Saver, Saving};
use crate::served::Served;
use fourcorners_workload::Operation;
use mio::{Events, Interest, Poll, Token, Waker};
use serde_json::{Value, json};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How often those are looked for that have stopped in mid-sentence.
const LOOK_AROUND: Duration = Duration::from_millis(100);
/// How long the kernel may take to let go of a device: what it still has to write, it may
/// have collected for as long (`dirty_expire_centisecs`).
const LEAVE: Duration = Duration::from_secs(30);

pub(crate) const NBD: Token = Token(0);
pub(crate) const CONTROL: Token = Token(1);
const WAKER: Token = Token(2);
pub(crate) const DEVICE: Token = Token(3);
const FIRST_CLIENT: Token = Token(4);

/// A server that listens, and is not serving yet.
pub struct Server {
    poll: Poll,
    events: Events,
    nbd: Option<Listener>,
    devices: Vec<Box<dyn Device>>,
    control: Option<Listener>,
    asked: Receiver<Asked>,
    stop: Arc<AtomicBool>,
    remote: Remote,
}

/// What another thread wishes, and whom it is answered.
type Asked = (Wish, Sender<Value>);

/// A server's other threads' hold on it.
#[derive(Clone)]
pub struct Remote {
    ask: Arc<Mutex<Sender<Asked>>>,
    waker: Arc<Waker>,
    stop: Arc<AtomicBool>,
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was asked to.
    Stopped,
    /// Power was cut, and not to come back.
    PowerCut,
    /// The drive can serve nothing more; why.
    Failed(String),
}

/// How a drive is served.
#[derive(Clone, Debug)]
pub struct Manner {
    /// How much faster than real time.
    pub speed: f64,
    /// Whether writes are refused.
    pub is_read_only: bool,
    /// For people.
    pub description: String,
    /// After how much of the drive's time power comes back, where a cut does not say it.
    pub restart_after_ns: Option<u64>,
    /// The drive's state is saved while it is served.
    pub saving: Option<Saving>,
}

impl Remote {
    /// Asks the server, which answers between two I/Os; `None` where it has ended.
    pub fn ask(&self, wish: Wish) -> Option<Value> {
        let (sender, receiver) = channel();
        self.ask.lock().ok()?.send((wish, sender)).ok()?;
        self.waker.wake().ok()?;
        receiver.recv().ok()
    }

    /// Ends the session.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.waker.wake();
    }
}

impl Server {
    /// Serves programs at `nbd` and by `devices`, and listens for commands at the path
    /// `control`.
    ///
    /// # Errors
    /// In one sentence.
    pub fn new(
        nbd: Option<&str>,
        exposed: Option<&str>,
        control: Option<&std::path::Path>,
        devices: Vec<Box<dyn Device>>,
    ) -> Result<Self, String> {
        let failed = |error: io::Error| format!("cannot listen: {error}");
        let poll = Poll::new().map_err(failed)?;
        let mut nbd = nbd.map(|nbd| Listener::new(nbd, exposed)).transpose()?;
        let mut control = control.map(Listener::at_path).transpose()?;
        for (listener, token) in [(&mut nbd, NBD), (&mut control, CONTROL)] {
            if let Some(listener) = listener {
                let registry = poll.registry();
                registry.register(listener.source(), token, Interest::READABLE).map_err(failed)?;
            }
        }
        let waker = Arc::new(Waker::new(poll.registry(), WAKER).map_err(failed)?);
        let (ask, asked) = channel();
        let stop: Arc<AtomicBool> = Arc::default();
        let remote = Remote { ask: Arc::new(Mutex::new(ask)), waker, stop: Arc::clone(&stop) };
        let events = Events::with_capacity(256);
        Ok(Self { poll, events, nbd, devices, control, asked, stop, remote })
    }

    /// Where programs connect by NBD.
    pub fn uri(&self) -> Option<String> {
        self.nbd.as_ref().map(Listener::uri)
    }

    /// For other threads.
    pub fn remote(&self) -> Remote {
        self.remote.clone()
    }

    /// Serves until it is told to stop, or power is gone for good. The drive has served
    /// what it was given then, and flushed.
    pub fn run(mut self, served: &mut Served<'_>, manner: &Manner) -> Ended {
        resting::set_timer_slack();
        let clock = Clock::new(served.start_ns(), manner.speed);
        let export = Export {
            capacity_bytes: served.capacity_bytes(),
            description: manner.description.clone(),
            is_read_only: manner.is_read_only,
            has_trim: served.has_trim(),
        };
        let about = About {
            capacity_bytes: export.capacity_bytes,
            is_read_only: manner.is_read_only,
            has_trim: export.has_trim,
            has_volatile_cache: served.has_volatile_cache(),
        };
        let attention = Arc::new(Attention::new(Arc::clone(&self.remote.waker)));
        for device in &mut self.devices {
            if let Err(why) = device.begin(&about, self.poll.registry(), &attention) {
                return Ended::Failed(why);
            }
        }
        let clients = Clients::new(export, FIRST_CLIENT);
        let saver = manner.saving.clone().map(Saver::new);
        let mut session = Session {
            server: self,
            served,
            clients,
            clock,
            manner,
            away_until_ns: None,
            saver,
            of_device: Vec::new(),
            finished: Vec::new(),
            attention,
            failure: None,
            wakes_ns: 0,
            looked: Instant::now(),
            awake: Awake::default(),
            leaving: None,
        };
        session.run()
    }
}

/// A server at work.
struct Session<'s, 'd> {
    server: Server,
    served: &'s mut Served<'d>,
    clients: Clients,
    clock: Clock,
    manner: &'s Manner,
    /// Until when the device is away.
    away_until_ns: Option<u64>,
    saver: Option<Saver>,
    /// What has happened to the device and is not seen to yet.
    of_device: Vec<DeviceFault>,
    finished: Vec<Finished>,
    attention: Arc<Attention>,
    /// Why the drive can serve nothing more, where another thread has found that.
    failure: Option<String>,
    /// Until when, in the drive's time, the server's thread sleeps unless it is woken.
    wakes_ns: u64,
    looked: Instant,
    awake: Awake,
    /// Since when the devices leave.
    leaving: Option<Instant>,
}

impl Session<'_, '_> {
    fn run(&mut self) -> Ended {
        let ended = loop {
            if self.server.stop.load(Ordering::Relaxed) && self.have_left() {
                break Ended::Stopped;
            }
            match self.turn() {
                Ok(None) => {}
                Ok(Some(ended)) => break ended,
                Err(why) => break Ended::Failed(why),
            }
        };
        if ended == Ended::Stopped {
            let mut finished = Vec::new();
            let result = self.served.shut_down(&mut finished);
            self.deliver(&finished);
            self.clients.flush(self.served);
            if let Err(why) = result {
                return Ended::Failed(why);
            }
        }
        ended
    }

    /// Whether the kernel has let go of the devices, which it is told to; what it still has
    /// to write is served.
    fn have_left(&mut self) -> bool {
        if self.leaving.is_none() {
            // What hangs would hold it up.
            let now_ns = self.clock.now_ns();
            self.served.clear_faults(None, now_ns);
        }
        let since = *self.leaving.get_or_insert_with(Instant::now);
        let mut all = true;
        for device in &mut self.server.devices {
            all &= device.leave();
        }
        all || since.elapsed() > LEAVE
    }

    /// Once around: what the drive has done, what programs ask, and a rest.
    fn turn(&mut self) -> Result<Option<Ended>, String> {
        let now_ns = self.clock.now_ns();
        self.work_until(now_ns)?;
        if let Some(saver) = &mut self.saver {
            saver.turn(self.served);
        }
        if self.away_until_ns.is_some_and(|until_ns| now_ns >= until_ns) {
            self.away_until_ns = None;
        }
        if self.away_until_ns.is_none() {
            self.clients.receive(self.served, &mut self.of_device);
            for device in &mut self.server.devices {
                device.receive(self.served, &mut self.of_device)?;
            }
            // A drive that takes no time has done it, and is no reason to go round again.
            self.work_until(now_ns)?;
        } else {
            self.server.devices.iter_mut().for_each(|device| device.fail());
        }
        for fault in std::mem::take(&mut self.of_device) {
            if let Some(ended) = self.happen(fault, now_ns)? {
                return Ok(Some(ended));
            }
        }
        while let Ok((wish, answer)) = self.server.asked.try_recv() {
            let is_fault = matches!(wish, Wish::Fault { .. });
            let _ = answer.send(self.grant(wish));
            // What is asked next is answered when it has happened.
            if is_fault {
                break;
            }
        }
        for (client, wish) in self.clients.wishes() {
            let answer = match wish {
                Ok(wish) => self.grant(wish),
                Err(why) => json!({"error": why}),
            };
            self.clients.tell(client, &answer);
        }
        self.clients.flush(self.served);
        self.server.devices.iter_mut().for_each(|device| device.flush());
        let passed = self.looked.elapsed();
        if passed > LOOK_AROUND {
            self.looked = Instant::now();
            self.clients.look_around();
            self.awake.look(self.served.tally().answers().0, passed);
        }
        self.rest().map_err(|error| format!("the sockets cannot be waited on: {error}"))?;
        self.failure.take().map_or(Ok(None), Err)
    }

    /// Lets the drive work until `now_ns`, and answers.
    fn work_until(&mut self, now_ns: u64) -> Result<(), String> {
        let mut finished = std::mem::take(&mut self.finished);
        finished.clear();
        let of_device = self.served.advance(now_ns, &mut finished)?;
        self.deliver(&finished);
        self.finished = finished;
        self.of_device.extend(of_device);
        Ok(())
    }

    fn deliver(&mut self, finished: &[Finished]) {
        if finished.is_empty() {
            return;
        }
        let now_ns = self.clock.now_ns();
        for finished in finished {
            let late_ns = self.clock.real_ns(now_ns.saturating_sub(finished.completed_ns));
            let took_ns = self.clock.real_ns(finished.latency_ns);
            self.served.tally().delivered(late_ns, took_ns);
            let mut devices = self.server.devices.iter_mut();
            match devices.find(|device| device.client() == finished.client) {
                Some(device) => device.finished(finished, self.served, &mut self.of_device),
                None => self.clients.finished(finished),
            }
        }
    }

    /// Something happens to the device.
    fn happen(&mut self, fault: DeviceFault, now_ns: u64) -> Result<Option<Ended>, String> {
        match fault {
            DeviceFault::Gone(for_ns) => self.go_away(now_ns, for_ns),
            DeviceFault::PowerCut(for_ns) => {
                self.served.power_cut()?;
                match for_ns.or(self.manner.restart_after_ns) {
                    Some(for_ns) => self.go_away(now_ns, for_ns),
                    None => return Ok(Some(Ended::PowerCut)),
                }
            }
        }
        Ok(None)
    }

    fn go_away(&mut self, now_ns: u64, for_ns: u64) {
        self.away_until_ns = Some(now_ns.saturating_add(for_ns));
        self.clients.disconnect();
        self.server.devices.iter_mut().for_each(|device| device.fail());
    }

    /// Does what a command asks for.
    fn grant(&mut self, wish: Wish) -> Value {
        match wish {
            Wish::Status => self.status(),
            Wish::Fault { fault } => {
                // Its times count from now.
                let since_ns = self.clock.now_ns() - self.served.start_ns();
                let mut fault = *fault;
                fault.at_ns = fault.at_ns.saturating_add(since_ns);
                match self.served.add_fault(fault) {
                    Ok(id) => json!({"id": id}),
                    Err(why) => json!({"error": why}),
                }
            }
            Wish::Clear { id } => {
                let now_ns = self.clock.now_ns();
                match (self.served.clear_faults(id, now_ns), id) {
                    (false, Some(id)) => json!({"error": format!("there is no fault {id}")}),
                    (cleared, _) => json!({"cleared": cleared}),
                }
            }
            Wish::End => {
                self.server.stop.store(true, Ordering::Relaxed);
                json!({"done": true})
            }
        }
    }

    fn status(&mut self) -> Value {
        let elapsed_ns = self.clock.elapsed_ns(self.clock.now_ns());
        let faults: Vec<Value> = (self.served.injection().faults().iter())
            .map(|active| {
                json!({
                    "id": active.id,
                    "fault": active.fault,
                    "concerned": active.concerned,
                    "happened": active.happened,
                })
            })
            .collect();
        let counters: serde_json::Map<String, Value> = (self.served.counters().into_iter())
            .map(|(name, value)| (name, json!(value)))
            .collect();
        let volatile_bytes = self.served.volatile_bytes();
        let unanswered = self.served.unanswered();
        let (answers, late) = self.served.tally().answers();
        let operations: serde_json::Map<String, Value> =
            [Operation::Read, Operation::Write, Operation::Flush]
                .into_iter()
                .map(|operation| {
                    let record = &self.served.tally().recording().operations[operation.index()];
                    let told = json!({
                        "ios": record.ios,
                        "bytes": record.bytes,
                        "latency_sum_ns": record.latencies.sum_ns() as u64,
                        "errors": record.errors.values().sum::<u64>(),
                    });
                    (operation.name().to_string(), told)
                })
                .collect();
        let (trims, zeroes, cuts, corruptions) = self.served.tally().events();
        json!({
            "elapsed_ns": elapsed_ns,
            "operations": operations,
            "unanswered": unanswered,
            "clients": self.clients.count(),
            "answers": answers,
            "late": late,
            "trims": trims,
            "zeroes": zeroes,
            "power_cuts": cuts,
            "corruptions": corruptions.len(),
            "volatile_bytes": volatile_bytes,
            "state_save_failed": self.saver.as_mut().is_some_and(Saver::failed),
            "is_away": self.away_until_ns.is_some(),
            "faults": faults,
            "counters": counters,
        })
    }
}
