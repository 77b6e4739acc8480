//! The threads that hear the virtual machine: one for what its program says of the device,
//! and one for the guest's requests.

use super::request::{self, HEADER_BYTES, Kind};
use crate::device::{About, Asked};
use crate::inbox::Inbox;
use crate::io::Command;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex};
use vhost::vhost_user::message::{VhostUserProtocolFeatures, VhostUserVirtioFeatures};
use vhost_user_backend::{VhostUserBackend, VringMutex, VringT};
use virtio_bindings::virtio_blk::{VIRTIO_BLK_ID_BYTES, virtio_blk_config};
use virtio_queue::{DescriptorChain, QueueOwnedT, Writer};
use vm_memory::{GuestAddressSpace, GuestMemoryAtomic, GuestMemoryLoadGuard, GuestMemoryMmap};
use vmm_sys_util::epoll::EventSet;
use vmm_sys_util::event::{
    EventConsumer, EventFlag, EventNotifier, new_event_consumer_and_notifier,
};

pub type Memory = GuestMemoryAtomic<GuestMemoryMmap>;
type Vring = VringMutex;
type Chain = DescriptorChain<GuestMemoryLoadGuard<GuestMemoryMmap>>;

/// Requests of one queue that a guest may have under way at a time.
const DEPTH: usize = 256;

/// What the drive is called, where a guest asks.
const NAME: &[u8] = b"fourcorners";

/// A request, and where it is answered.
pub struct Request {
    pub asked: Asked,
    pub place: Place,
}

/// Where a request came from.
pub struct Place {
    vring: Vring,
    chain: Chain,
}

impl Place {
    /// Answers, with the data of a read. The guest is told by [`Place::vring`].
    pub fn answer(&self, status: u8, data: &[u8]) {
        // What a guest makes impossible is its own loss.
        let length_bytes = self.write(status, data).unwrap_or(0);
        let _ = self.vring.add_used(self.chain.head_index(), length_bytes);
    }

    fn write(&self, status: u8, data: &[u8]) -> io::Result<u32> {
        let mut data_writer = self.writer()?;
        let before_status = data_writer.available_bytes().saturating_sub(1);
        let mut status_writer = data_writer.split_at(before_status).map_err(io::Error::other)?;
        data_writer.write_all(data)?;
        status_writer.write_all(&[status])?;
        Ok(before_status as u32 + 1)
    }

    fn writer(&self) -> io::Result<Writer<'_>> {
        self.chain.clone().writer(self.chain.memory()).map_err(io::Error::other)
    }

    /// Tells the guest that something was answered, where it wants to be told.
    pub fn notify(&self) {
        if self.vring.needs_notification().unwrap_or(true) {
            let _ = self.vring.signal_used_queue();
        }
    }
}

/// What hears one virtual machine after the other.
pub struct Backend {
    about: About,
    inbox: Arc<Inbox<Request>>,
    memory: Mutex<Option<Memory>>,
}

impl Backend {
    pub fn new(about: About, inbox: Arc<Inbox<Request>>) -> Self {
        Self { about, inbox, memory: Mutex::default() }
    }

    /// Takes what a queue has.
    fn take(&self, vring: &Vring) -> io::Result<()> {
        let memory = self.memory.lock().map_err(|_| io::ErrorKind::Other)?.clone();
        let Some(memory) = memory else { return Ok(()) };
        loop {
            vring.disable_notification().map_err(io::Error::other)?;
            let chains: Vec<Chain> = {
                let mut state = vring.get_mut();
                state.get_queue_mut().iter(memory.memory()).map_err(io::Error::other)?.collect()
            };
            for chain in chains {
                let place = Place { vring: vring.clone(), chain };
                match self.read(&place) {
                    Ok(Some(asked)) => self.inbox.push(Request { asked, place }),
                    Ok(None) => {
                        let name = &mut [0; VIRTIO_BLK_ID_BYTES as usize][..];
                        name[..NAME.len()].copy_from_slice(NAME);
                        place.answer(request::OK, name);
                        place.notify();
                    }
                    Err(status) => {
                        place.answer(status, &[]);
                        place.notify();
                    }
                }
            }
            if !vring.enable_notification().map_err(io::Error::other)? {
                return Ok(());
            }
        }
    }

    /// What is asked, with a write's data; nothing where that is the drive's name.
    fn read(&self, place: &Place) -> Result<Option<Asked>, u8> {
        let failed = |_| request::FAILED;
        let mut reader =
            place.chain.clone().reader(place.chain.memory()).map_err(|_| request::FAILED)?;
        let mut bytes = [0; HEADER_BYTES];
        reader.read_exact(&mut bytes).map_err(failed)?;
        let (kind, number, sector) = request::header(bytes)?;
        let follow_bytes = reader.available_bytes();
        match kind {
            Kind::Name => Ok(None),
            Kind::Flush => request::transfer(kind, sector, 0, &self.about).map(Some),
            Kind::Read => {
                let room_bytes = place.writer().map_err(failed)?.available_bytes();
                let length_bytes = room_bytes.saturating_sub(1) as u64;
                request::transfer(kind, sector, length_bytes, &self.about).map(Some)
            }
            Kind::Write => {
                let mut asked = request::transfer(kind, sector, follow_bytes as u64, &self.about)?;
                let mut data = vec![0; follow_bytes];
                reader.read_exact(&mut data).map_err(failed)?;
                asked.command = Command::Write(data);
                Ok(Some(asked))
            }
            Kind::Range => {
                // More than one is more than was offered.
                let mut segment = vec![0; follow_bytes.min(17)];
                reader.read_exact(&mut segment).map_err(failed)?;
                request::range(number, &segment, &self.about).map(Some)
            }
        }
    }
}

impl VhostUserBackend for Backend {
    type Bitmap = ();
    type Vring = Vring;

    fn num_queues(&self) -> usize {
        request::QUEUES.into()
    }

    fn max_queue_size(&self) -> usize {
        DEPTH
    }

    fn features(&self) -> u64 {
        request::features(&self.about) | VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits()
    }

    fn protocol_features(&self) -> VhostUserProtocolFeatures {
        VhostUserProtocolFeatures::CONFIG | VhostUserProtocolFeatures::MQ
    }

    // The queues know it.
    fn set_event_idx(&self, _: bool) {}

    fn get_config(&self, offset: u32, size: u32) -> Vec<u8> {
        let told = request::configuration(&self.about);
        // SAFETY: it is packed, so that all of its bytes are there.
        let bytes: [u8; size_of::<virtio_blk_config>()] = unsafe { std::mem::transmute(told) };
        let from = (offset as usize).min(bytes.len());
        let to = from.saturating_add(size as usize).min(bytes.len());
        // A guest may know a longer configuration than this.
        let mut answer = bytes[from..to].to_vec();
        answer.resize(size as usize, 0);
        answer
    }

    fn update_memory(&self, memory: Memory) -> io::Result<()> {
        *self.memory.lock().map_err(|_| io::ErrorKind::Other)? = Some(memory);
        Ok(())
    }

    fn exit_event(&self, _: usize) -> Option<(EventConsumer, EventNotifier)> {
        new_event_consumer_and_notifier(EventFlag::NONBLOCK | EventFlag::CLOEXEC).ok()
    }

    fn handle_event(&self, queue: u16, _: EventSet, vrings: &[Vring], _: usize) -> io::Result<()> {
        match vrings.get(usize::from(queue)) {
            Some(vring) => self.take(vring),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use virtio_bindings::virtio_ring::{VRING_DESC_F_NEXT, VRING_DESC_F_WRITE};
    use virtio_queue::desc::{RawDescriptor, split::Descriptor};
    use virtio_queue::mock::MockSplitQueue;
    use vm_memory::{Bytes, GuestAddress};

    const ABOUT: About = About {
        capacity_bytes: 1 << 30,
        is_read_only: false,
        has_trim: true,
        has_volatile_cache: true,
    };
    const HEADER: u64 = 0x1_0000;
    const DATA: u64 = 0x2_0000;
    const STATUS: u64 = 0x3_0000;
    const UNTOUCHED: u8 = 99;

    /// Has a guest ask for one thing. Returns what came of it in the inbox, and its memory.
    fn asked(kind: u32, sector: u64, pieces: &[(u64, u32, bool)]) -> (Vec<Request>, Memory) {
        let memory = GuestMemoryMmap::from_ranges(&[(GuestAddress(0), 1 << 20)]).unwrap();
        let memory = Memory::new(memory);
        let inbox: Arc<Inbox<Request>> = Arc::default();
        let backend = Backend::new(ABOUT, Arc::clone(&inbox));
        let vring = Vring::new(memory.clone(), 16).unwrap();
        {
            let guest = memory.memory();
            let header = [u64::from(kind).to_le_bytes(), sector.to_le_bytes()].concat();
            guest.write_slice(&header, GuestAddress(HEADER)).unwrap();
            guest.write_slice(&[UNTOUCHED], GuestAddress(STATUS)).unwrap();
            let queue = MockSplitQueue::new(&*guest, 16);
            let descriptors: Vec<RawDescriptor> = (1..)
                .zip(pieces)
                .map(|(next, &(at, length_bytes, is_writable))| {
                    let write = if is_writable { VRING_DESC_F_WRITE } else { 0 };
                    let more = if next < pieces.len() { VRING_DESC_F_NEXT } else { 0 };
                    let flags = (write | more) as u16;
                    RawDescriptor::from(Descriptor::new(at, length_bytes, flags, next as u16))
                })
                .collect();
            queue.add_desc_chains(&descriptors, 0).unwrap();
            let [table, available, used] =
                [queue.desc_table_addr(), queue.avail_addr(), queue.used_addr()].map(|at| at.0);
            vring.set_queue_size(16);
            vring.set_queue_info(table, available, used).unwrap();
            vring.set_queue_ready(true);
        }
        backend.update_memory(memory.clone()).unwrap();
        let vrings = [vring];
        backend.handle_event(0, EventSet::IN, &vrings, 0).unwrap();
        assert_eq!(vrings[0].queue_next_avail(), 1);
        let mut requests = Vec::new();
        inbox.take(&mut requests);
        (requests, memory)
    }

    fn bytes<const COUNT: usize>(memory: &Memory, at: u64) -> [u8; COUNT] {
        let mut bytes = [0; COUNT];
        memory.memory().read_slice(&mut bytes, GuestAddress(at)).unwrap();
        bytes
    }

    #[test]
    fn a_read_is_answered_in_the_guests_memory() {
        // The data in two pieces, and the status behind them.
        let pieces =
            [(HEADER, 16, false), (DATA, 512, true), (DATA + 4096, 512, true), (STATUS, 1, true)];
        let (requests, memory) = asked(0, 8, &pieces);
        let [request] = &requests[..] else { panic!("one was asked") };
        assert_eq!(request.asked.command, Command::Read);
        assert_eq!((request.asked.offset_bytes, request.asked.length_bytes), (4096, 1024));
        assert_eq!(bytes(&memory, STATUS), [UNTOUCHED]);
        let data: Vec<u8> = (0..1024_u32).map(|at| (at / 4) as u8).collect();
        request.place.answer(request::OK, &data);
        assert_eq!(bytes(&memory, STATUS), [request::OK]);
        assert_eq!(bytes::<512>(&memory, DATA), data[..512]);
        assert_eq!(bytes::<512>(&memory, DATA + 4096), data[512..]);
        assert_eq!(request.place.vring.queue_used_idx().unwrap(), 1);
    }

    #[test]
    fn a_writes_data_comes_with_it() {
        let pieces = [(HEADER, 16, false), (HEADER, 512, false), (STATUS, 1, true)];
        let (requests, memory) = asked(1, 3, &pieces);
        let Command::Write(data) = &requests[0].asked.command else { panic!("a write") };
        assert_eq!((data.len(), data[0], data[8]), (512, 1, 3));
        requests[0].place.answer(request::FAILED, &[]);
        assert_eq!(bytes(&memory, STATUS), [request::FAILED]);
    }

    #[test]
    fn what_makes_no_sense_is_answered_at_once() {
        let status = (STATUS, 1, true);
        for (kind, sector, pieces, answer) in [
            (0, 1 << 40, vec![(HEADER, 16, false), (DATA, 512, true), status], request::FAILED),
            (0, 0, vec![(HEADER, 16, false), status], request::FAILED),
            (77, 0, vec![(HEADER, 16, false), status], request::UNSUPPORTED),
            // Half a header.
            (1, 0, vec![(HEADER, 8, false), status], request::FAILED),
            (8, 0, vec![(HEADER, 16, false), (DATA, 20, true), status], request::OK),
        ] {
            let (requests, memory) = asked(kind, sector, &pieces);
            assert!(requests.is_empty(), "{kind} {pieces:?}");
            assert_eq!(bytes(&memory, STATUS), [answer], "{kind} {pieces:?}");
            if kind == 8 {
                assert_eq!(bytes::<11>(&memory, DATA), *NAME);
            }
        }
        // Memory that is not the guest's, and a request without a place for its answer.
        for pieces in [vec![(HEADER, 16, false), (1 << 40, 512, false)], vec![(HEADER, 16, false)]]
        {
            asked(1, 0, &pieces);
        }
    }
}
