//! How the server's thread waits for the next thing to happen, and what others may do with
//! its state meanwhile.

use super::{CONTROL, DEVICE, LOOK_AROUND, NBD, Server, Session, WAKER};
use crate::attention::Host;
use mio::Token;
use rustix::event::{PollFd, PollFlags, Timespec};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

/// Sleeping ends late by up to so much on a machine that has a processor free; the
/// rest of the time is spent looking.
const WAKE_LATE: Duration = Duration::from_micros(50);
/// How often a drive is asked that does not say when something will happen.
const ASK: Duration = Duration::from_micros(50);

impl Session<'_, '_> {
    /// Waits for the next thing to happen.
    pub(super) fn rest(&mut self) -> io::Result<()> {
        let now_ns = self.clock.now_ns();
        let wait = if self.clients.is_busy() { Duration::ZERO } else { self.until_next(now_ns) };
        if wait > WAKE_LATE {
            self.wakes_ns = now_ns.saturating_add(self.clock.virtual_ns(wait));
            let wait = wait - WAKE_LATE;
            let timeout =
                Timespec { tv_sec: wait.as_secs() as _, tv_nsec: wait.subsec_nanos().into() };
            let all = self.server.poll.as_raw_fd();
            let sleep = || {
                // SAFETY: the descriptor is that of a poll that lives as long as the session.
                let all = unsafe { BorrowedFd::borrow_raw(all) };
                match rustix::event::poll(&mut [PollFd::new(&all, PollFlags::IN)], Some(&timeout)) {
                    Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
                    Err(error) => Err(error),
                }
            };
            // A second device would be used by the first one's thread.
            let devices = &self.server.devices[..];
            let lends =
                self.away_until_ns.is_none() && matches!(devices, [device] if device.may_attend());
            Arc::clone(&self.attention).sleep(self, lends, sleep)?;
        }
        match self.server.poll.poll(&mut self.server.events, Some(Duration::ZERO)) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        for event in &self.server.events {
            match event.token() {
                NBD => self.clients.knocks = true,
                CONTROL => self.clients.control_knocks = true,
                WAKER | DEVICE => {}
                Token(client) => {
                    let (can_read, ends) = (event.is_readable(), event.is_read_closed());
                    self.clients.ready(client, can_read, event.is_writable(), ends);
                }
            }
        }
        let is_away = self.away_until_ns.is_some();
        let registry = self.server.poll.registry();
        let Server { nbd, control, .. } = &self.server;
        self.clients.accept(nbd.as_ref(), control.as_ref(), registry, is_away);
        Ok(())
    }

    fn until_next(&self, now_ns: u64) -> Duration {
        let due = match self.served.next_ns() {
            Some(due_ns) => self.clock.real(due_ns.saturating_sub(now_ns)),
            None => ASK,
        };
        let back = self.away_until_ns.map_or(LOOK_AROUND, |until_ns| {
            self.clock.real(until_ns.saturating_sub(now_ns)).max(Duration::from_micros(100))
        });
        due.min(back).min(LOOK_AROUND)
    }

    /// Hands what the devices were asked to the drive, and answers whatever is due by then.
    fn serve_devices(&mut self) -> Result<(), String> {
        let now_ns = self.clock.now_ns();
        self.work_until(now_ns)?;
        for device in &mut self.server.devices {
            device.receive(self.served, &mut self.of_device)?;
        }
        self.work_until(now_ns)?;
        self.clients.flush(self.served);
        self.server.devices.iter_mut().for_each(|device| device.flush());
        Ok(())
    }
}

impl Host for Session<'_, '_> {
    fn is_quiet(&mut self) -> bool {
        self.server.devices.iter_mut().all(|device| device.may_sleep())
    }

    fn attend(&mut self) -> bool {
        if let Err(why) = self.serve_devices() {
            self.failure = Some(why);
            return true;
        }
        // A drive that does not say when something will happen has to be asked.
        let is_early = self.served.next_ns().is_none_or(|due_ns| due_ns < self.wakes_ns);
        is_early || !self.of_device.is_empty()
    }
}

/// Sleeps end when they should, and not up to 50 us later.
pub(super) fn set_timer_slack() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}
