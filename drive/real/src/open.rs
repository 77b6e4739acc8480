//! Opens what was planned, and claims it.

use crate::claim::ClaimedFile;
use crate::direct::SECTOR_BYTES;
use crate::engine::{Engine, Way};
use crate::facts::Facts;
use crate::guard::{Guard, Known};
use crate::identity::Identity;
use crate::observed::Observed;
use crate::plan::{Kind, Plan};
use crate::refusal::refusal;
use crate::system::asynchronous::Namespace;
use crate::system::device;
use crate::system::identity::DeviceIdentity;
use crate::system::{self, direct, room};
use crate::view::View;
use crate::within::{Unprepared, step, within};
use crate::{RealTarget, mark, regular};
use fourcorners_target::TargetError;
use std::fs::{File, OpenOptions};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What one call of a purge has to do with: little enough that a slow drive ends
/// it within the time that one I/O may take.
const PART_BYTES: u64 = 1 << 30;

/// An open file or device: the one claim that all workers share. A device to
/// be written is held exclusively, so the kernel lets nobody mount it meanwhile.
#[derive(Debug)]
pub struct RealFile {
    plan: Plan,
    file: Arc<ClaimedFile>,
    /// Targets made so far: each gets content of its own.
    targets: AtomicU64,
    engine: Arc<Engine>,
    /// Where NVMe commands go.
    namespace: Option<Arc<Namespace>>,
    observed: Arc<Observed>,
    guard: Guard,
}

impl RealFile {
    /// Opens what `plan` describes; creates the file where it says so, with
    /// all its room allocated.
    ///
    /// # Errors
    /// What stands behind the path has changed since the plan, is in use, or
    /// cannot be opened or allocated. A file whose allocation failed is
    /// removed if it was created here, unless its file system does not answer.
    pub fn open(plan: Plan) -> Result<RealFile, TargetError> {
        let (path, limit) = (plan.path.clone(), plan.limit);
        let is_new = plan.identity.is_none();
        let (file, plan) = step("opening", &path, limit, move || claim(plan))?;
        let file = Arc::new(file);
        if plan.creates {
            allocate(&file, &plan, is_new)?;
        }
        let opened = Arc::clone(&file);
        let (plan, known) = step("opening", &path, limit, move || {
            let plan = with_direct_io(&opened, plan)?;
            let known = plan.writable.then(|| Known::of(&opened, &plan)).transpose()?;
            Ok((plan, known))
        })?;
        Ok(RealFile {
            guard: Guard::new(Arc::clone(&file), &plan, known),
            plan,
            file,
            targets: AtomicU64::new(0),
            engine: Arc::default(),
            namespace: None,
            observed: Arc::default(),
        })
    }

    /// The plan as it was carried out: `direct`, the alignment and the notes
    /// are those of the open file.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Whether the kernel counts I/O to it as block I/O.
    pub fn is_counted(&self) -> bool {
        self.namespace.is_none()
    }

    /// What has to be asked before it is written.
    pub fn guard(&self) -> &Guard {
        &self.guard
    }

    /// What it is known by again.
    ///
    /// # Errors
    /// It does not answer.
    pub fn facts(&self) -> Result<Facts, TargetError> {
        if let Some(Identity::Device(device)) = &self.plan.identity {
            return Ok(device.facts());
        }
        let metadata = self.file.metadata().map_err(|error| refusal(&self.plan.path, &error))?;
        Ok(Facts::of_file(&self.file, &metadata))
    }

    /// What a reader of the results should know: the plan's notes, and what
    /// came up while measuring.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.plan.notes.clone();
        notes.extend(self.observed.notes());
        notes
    }

    /// The same file, with I/O passed to the system as `engine` says.
    ///
    /// # Errors
    /// Buffered I/O on a file that stays in direct mode; NVMe commands to what
    /// takes none.
    pub fn with_engine(mut self, engine: Engine) -> Result<RealFile, TargetError> {
        if engine.way == Way::Nvme {
            self.namespace = Some(Arc::new(Namespace::beside(&self.plan, &self.file)?));
            self.plan.notes.push(
                "I/O went as NVMe commands, past the block layer: the kernel's counts do not contain it".into(),
            );
        }
        if engine.buffered && !direct::switch(&self.file, false) {
            return Err(refusal(&self.plan.path, &std::io::Error::last_os_error()));
        }
        if engine.buffered && self.plan.direct {
            self.plan.direct = false;
            self.plan.request_alignment_bytes = SECTOR_BYTES;
            self.plan
                .notes
                .push("I/O was buffered, as asked: results include the page cache".into());
        }
        self.engine = Arc::new(engine);
        Ok(self)
    }

    /// The same for a worker whose requests are due at times, as what is due while it has no
    /// processor is late: unless `cpus` names others, it keeps off processors that the device
    /// interrupts.
    pub fn punctual_target(&self, seed: u64) -> RealTarget {
        let mut target = self.target(seed);
        target.is_punctual = true;
        target
    }

    /// A target for one worker. Its written content follows from `seed` and
    /// from how many targets were made before it, so that no two workers
    /// write the same bytes.
    pub fn target(&self, seed: u64) -> RealTarget {
        let index = self.targets.fetch_add(1, Ordering::Relaxed);
        // An odd multiplier spreads the index over all bits.
        let seed = seed ^ index.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        RealTarget::new(
            Arc::clone(&self.file),
            self.plan.capacity_bytes,
            Arc::clone(&self.engine),
            self.namespace.clone(),
            index,
            Arc::clone(&self.observed),
            seed,
        )
    }

    /// Gives the whole content back, as [`RealFile::trim`] does a part of it.
    ///
    /// # Errors
    /// Those of `trim`.
    pub fn purge(&mut self, limit: Duration) -> Result<(), Unprepared> {
        self.trim(0..self.plan.capacity_bytes, limit)
    }

    /// Gives a part of the content back: discards the blocks of a device; of a
    /// file, frees its room and allocates it anew, which reaches the drive
    /// only where the file system is mounted with `discard`. Afterwards
    /// reads of it do not reach the medium until it has been filled.
    ///
    /// # Errors
    /// A plan without permission to write; a part that ends beyond the content,
    /// or does not consist of whole blocks; a device that cannot discard; a GiB
    /// that takes longer than `limit`.
    pub fn trim(&mut self, part: Range<u64>, limit: Duration) -> Result<(), Unprepared> {
        let path = self.plan.path.display();
        if !self.plan.writable {
            let refused =
                format!("{path} was opened for reading only: its content is not discarded");
            return Err(TargetError(refused).into());
        }
        let block_bytes = u64::from(self.plan.request_alignment_bytes);
        let is_whole = part.start.is_multiple_of(block_bytes)
            && (part.end.is_multiple_of(block_bytes) || part.end == self.plan.capacity_bytes);
        if part.end > self.plan.capacity_bytes || part.start >= part.end || !is_whole {
            let (start, end, capacity_bytes) = (part.start, part.end, self.plan.capacity_bytes);
            return Err(TargetError(format!(
                "{path} cannot be trimmed from byte {start} to {end}: use whole blocks of {block_bytes} B within its {capacity_bytes} B"
            ))
            .into());
        }
        self.guard.begin_writing()?;
        // From here on, whether it succeeds or not.
        self.plan.needs_fill = true;
        let trimmed = match self.plan.kind {
            Kind::Device => self.part_by_part("discarding", part, limit, device::discard),
            Kind::File => self
                .part_by_part("freeing", part.clone(), limit, room::free)
                .and_then(|()| self.part_by_part("allocating", part, limit, room::allocate)),
        };
        self.guard.end_writing(trimmed.is_ok());
        trimmed
    }

    /// Does something with a part of the content, and names what hangs.
    fn part_by_part(
        &self,
        doing: &str,
        whole: Range<u64>,
        limit: Duration,
        call: impl Fn(&File, &Range<u64>) -> std::io::Result<()> + Copy + Send + 'static,
    ) -> Result<(), Unprepared> {
        let path = &self.plan.path;
        for start in whole.clone().step_by(PART_BYTES as usize) {
            let part = start..whole.end.min(start + PART_BYTES);
            let (file, count) = (Arc::clone(&self.file), part.end - start);
            match within(limit, move || call(&file, &part)) {
                Some(Ok(())) => {}
                Some(Err(error)) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
                    return Err(TargetError(format!(
                        "{} supports no {doing}: it cannot be purged this way",
                        path.display()
                    ))
                    .into());
                }
                Some(Err(error)) => return Err(refusal(path, &error).into()),
                None => {
                    return Err(Unprepared::Hangs(format!(
                        "{doing} {count} bytes of {} at byte {start} took longer than {} s, the limit for one I/O",
                        path.display(),
                        limit.as_secs_f64()
                    )));
                }
            }
        }
        Ok(())
    }

    /// Says that all of the capacity has been written since it was opened.
    ///
    /// # Errors
    /// The device or file system failed to keep what was written, or takes longer
    /// than `limit`.
    pub fn filled(&mut self, limit: Duration) -> Result<(), Unprepared> {
        let (file, path) = (Arc::clone(&self.file), &self.plan.path);
        match within(limit, move || file.sync_data()) {
            Some(synced) => synced.map_err(|error| refusal(path, &error))?,
            None => {
                self.guard.end_writing(false);
                return Err(Unprepared::Hangs(format!(
                    "flushing {} took longer than {} s, the limit for one I/O",
                    path.display(),
                    limit.as_secs_f64()
                )));
            }
        }
        self.plan.needs_fill = false;
        Ok(())
    }
}

/// Opens what was planned, unless it has changed, and keeps others from it. A file
/// that was empty is marked as ours.
fn claim(mut plan: Plan) -> Result<(ClaimedFile, Plan), TargetError> {
    let mut options = OpenOptions::new();
    options.read(true).write(plan.writable).create_new(plan.identity.is_none());
    let mut flags = libc::O_NOFOLLOW;
    if plan.kind == Kind::Device && plan.writable {
        // On a block device this claims it against every other user.
        flags |= libc::O_EXCL;
    }
    let file = options
        .custom_flags(flags)
        .open(&plan.path)
        .map_err(|error| refusal(&plan.path, &error))?;
    direct::at_opening(&file);
    let file = if plan.kind == Kind::File && plan.writable {
        ClaimedFile::locked(file).ok_or_else(|| {
            TargetError(format!(
                "{} is used by another run of fourcorners: nothing was written; wait until that has ended",
                plan.path.display()
            ))
        })?
    } else {
        ClaimedFile::unlocked(file)
    };
    let metadata = file.metadata().map_err(|error| refusal(&plan.path, &error))?;
    let identity = match plan.kind {
        Kind::File => Identity::of_file(&metadata),
        Kind::Device => Identity::Device(
            DeviceIdentity::of(&file, &metadata).map_err(|error| refusal(&plan.path, &error))?,
        ),
    };
    // What is only read may change: other programs have it, too.
    let changed = |planned: &Identity| *planned != identity && plan.writable;
    if plan.identity.as_ref().is_some_and(changed) {
        return Err(TargetError(format!(
            "{} is no longer what it was when it was examined: nothing was written; repeat the command",
            plan.path.display()
        )));
    }
    if plan.writable {
        // Somebody may have come since it was examined.
        let uses = system::uses(&file).map_err(|error| refusal(&plan.path, &error))?;
        uses.permit_writing(&plan.path)?;
        uses.note(&plan.path, &mut plan.notes);
    }
    plan.identity = Some(identity);
    // Before it is allocated: what a killed run leaves is known as ours. A file
    // that came with content was named for this run only.
    if plan.creates && metadata.len() == 0 {
        plan.seals = mark::made(&file).is_ok();
        if !plan.seals {
            plan.notes.push(format!(
                "the file system of {0} keeps no extended attributes: a later run needs --overwrite {0}",
                plan.path.display()
            ));
        }
    }
    Ok((file, plan))
}

/// Allocates all room of a file that is ours to size.
fn allocate(file: &Arc<ClaimedFile>, plan: &Plan, is_new: bool) -> Result<(), TargetError> {
    let (path, capacity_bytes) = (&plan.path, plan.capacity_bytes);
    for start in (0..capacity_bytes).step_by(PART_BYTES as usize) {
        let part = start..capacity_bytes.min(start + PART_BYTES);
        let opened = Arc::clone(file);
        let allocated = step("allocating", path, plan.limit, move || {
            Ok(match room::allocate(&opened, &part) {
                // Without allocation in the file system, the fill allocates.
                Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
                    opened.set_len(capacity_bytes)
                }
                other => other,
            })
        })?;
        if let Err(error) = allocated {
            // It was made a while ago, under `create_new`: it is ours, unless the name is no longer.
            if is_new && View::of(path, Kind::File, file).is_ok() {
                let _ = std::fs::remove_file(path);
            }
            return Err(refusal(path, &error));
        }
    }
    Ok(())
}

/// Direct I/O as planned for a device, and as the open file has it.
fn with_direct_io(file: &File, mut plan: Plan) -> Result<Plan, TargetError> {
    if plan.kind == Kind::File {
        let file_system = system::file_system_of(&plan.path);
        let direct = direct::examine(file, file_system.as_deref());
        regular::set_direct(&mut plan, direct, file_system.as_deref());
    }
    if plan.direct && !direct::switch(file, true) {
        return Err(TargetError(format!(
            "{} cannot be opened for direct I/O, though its file system said so",
            plan.path.display()
        )));
    }
    Ok(plan)
}
