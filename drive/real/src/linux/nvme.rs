//! NVMe commands by the character device of a namespace (`/dev/ng0n1`): past the
//! kernel's block layer. Layouts are those of linux/nvme_ioctl.h and of the NVMe
//! base and NVM command set specifications.

use super::ring::{FILE, Protocol};
use crate::plan::{Kind, Plan};
use crate::refusal::refusal;
use crate::transfer::Transfer;
use fourcorners_target::TargetError;
use fourcorners_workload::Operation;
use io_uring::{cqueue, opcode, squeue};
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// `struct nvme_uring_cmd` and `struct nvme_passthru_cmd`, which are laid out alike.
const COMMAND_BYTES: u32 = 72;
/// What an entry of the submission queue has room for.
const ROOM_BYTES: usize = 80;
const IOCTL_ID: libc::Ioctl = libc::_IO(b'N' as u32, 0x40);
const IOCTL_ADMIN: libc::Ioctl =
    libc::_IOWR::<[u64; COMMAND_BYTES as usize / 8]>(b'N' as u32, 0x41);
const URING_IO: u32 = libc::_IOWR::<[u64; COMMAND_BYTES as usize / 8]>(b'N' as u32, 0x80) as u32;

const FLUSH: u8 = 0x00;
const WRITE: u8 = 0x01;
const READ: u8 = 0x02;
const IDENTIFY: u8 = 0x06;
/// Of dword 12 of a write.
const FORCE_UNIT_ACCESS: u32 = 1 << 30;
const IDENTITY_BYTES: usize = 4096;

/// The block device of the namespace behind `/dev/ng0n1`.
pub(crate) fn block_device_of(path: &Path) -> Option<PathBuf> {
    namespace_name(path, "ng").map(|name| format!("/dev/nvme{name}").into())
}

/// `0n1` of `/dev/PREFIX0n1`; a partition has none.
fn namespace_name<'a>(path: &'a Path, prefix: &str) -> Option<&'a str> {
    let name = path.strip_prefix("/dev").ok()?.to_str()?.strip_prefix(prefix)?;
    let (controller, namespace) = name.split_once('n')?;
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (number(controller) && number(namespace)).then_some(name)
}

/// The way of commands to a namespace whose block device is planned and claimed.
#[derive(Debug)]
pub(crate) struct Namespace {
    pub(crate) file: File,
    pub(crate) commands: NvmeCommands,
    command_bytes_max: u32,
}

impl Namespace {
    /// Opens the character device beside the block device of `plan`, open as
    /// `block_device`.
    ///
    /// # Errors
    /// It is no NVMe namespace, the character device is missing or another
    /// namespace's, or blocks carry metadata.
    pub(crate) fn beside(plan: &Plan, block_device: &File) -> Result<Self, TargetError> {
        let shown = plan.path.display();
        let name = namespace_name(&plan.path, "nvme").filter(|_| plan.kind == Kind::Device);
        let Some(name) = name else {
            return Err(TargetError(format!(
                "the engine nvme sends commands to whole NVMe namespaces, and {shown} is none: leave out --engine"
            )));
        };
        let path = PathBuf::from(format!("/dev/ng{name}"));
        let file = OpenOptions::new()
            .read(true)
            .write(plan.writable)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&path)
            .map_err(|error| refusal(&path, &error))?;
        let failed = |error: std::io::Error| refusal(&path, &error);
        let number = namespace_number(&file).map_err(failed)?;
        if namespace_number(block_device).map_err(failed)? != number {
            return Err(TargetError(format!(
                "{} is not the namespace of {shown}: nothing was written; leave out --engine",
                path.display()
            )));
        }
        let identity = identify(&file, number).map_err(failed)?;
        let block_shift = block_shift(&identity, plan.capacity_bytes)
            .map_err(|why| TargetError(format!("{shown} {why}: leave out --engine")))?;
        let largest = format!("/sys/class/block/nvme{name}/queue/max_hw_sectors_kb");
        let largest_kib =
            std::fs::read_to_string(largest).ok().and_then(|text| text.trim().parse::<u32>().ok());
        Ok(Self {
            file,
            commands: NvmeCommands { number, block_shift },
            command_bytes_max: largest_kib.map_or(u32::MAX, |kib| kib.saturating_mul(1024)),
        })
    }

    /// Most data of one command: what the block layer would divide is refused.
    pub(crate) fn command_bytes_max(&self) -> u32 {
        self.command_bytes_max
    }
}

/// Transfers as commands to one namespace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NvmeCommands {
    number: u32,
    /// Blocks have 2 to the power of this bytes.
    block_shift: u32,
}

impl NvmeCommands {
    fn command(&self, transfer: &Transfer) -> Option<[u8; ROOM_BYTES]> {
        let opcode = match transfer.operation {
            Operation::Read => READ,
            Operation::Write => WRITE,
            Operation::Flush => return Some(command(FLUSH, self.number, 0, 0, [0; 3])),
            // Dataset management has its ranges as data, and write-zeroes limits of its own.
            Operation::Discard | Operation::WriteZeroes => return None,
        };
        let first = transfer.offset_bytes >> self.block_shift;
        // Counted from 0.
        let blocks = (transfer.length_bytes >> self.block_shift) - 1;
        let flags = if transfer.fua { FORCE_UNIT_ACCESS } else { 0 };
        let words = [first as u32, (first >> 32) as u32, blocks | flags];
        let pointer = transfer.pointer as u64;
        Some(command(opcode, self.number, pointer, transfer.length_bytes, words))
    }
}

impl Protocol for NvmeCommands {
    type Entry = squeue::Entry128;
    type Posted = cqueue::Entry32;

    #[inline]
    fn entry(&self, transfer: &Transfer, registered_buffers: bool) -> Option<squeue::Entry128> {
        // A flush has no data.
        let has_data = transfer.operation != Operation::Flush;
        let command = opcode::UringCmd80::new(FILE, URING_IO)
            .cmd(self.command(transfer)?)
            .buf_index((registered_buffers && has_data).then_some(transfer.piece));
        Some(command.build())
    }

    /// A result above 0 is the drive's status: what it says is an error of the
    /// medium to whoever reads or writes.
    #[inline]
    fn errno(result: i32, _length_bytes: u32) -> i32 {
        if result > 0 { libc::EIO } else { -result }
    }
}

/// A command; `words` are its dwords 10 to 12.
fn command(
    opcode: u8,
    namespace: u32,
    address: u64,
    length_bytes: u32,
    words: [u32; 3],
) -> [u8; ROOM_BYTES] {
    let mut bytes = [0; ROOM_BYTES];
    bytes[0] = opcode;
    bytes[4..8].copy_from_slice(&namespace.to_ne_bytes());
    bytes[24..32].copy_from_slice(&address.to_ne_bytes());
    bytes[36..40].copy_from_slice(&length_bytes.to_ne_bytes());
    for (index, word) in words.iter().enumerate() {
        bytes[40 + 4 * index..44 + 4 * index].copy_from_slice(&word.to_ne_bytes());
    }
    bytes
}

fn namespace_number(file: &File) -> std::io::Result<u32> {
    // SAFETY: the ioctl takes no memory, and returns the number.
    let number = unsafe { libc::ioctl(file.as_raw_fd(), IOCTL_ID) };
    if number < 0 { Err(std::io::Error::last_os_error()) } else { Ok(number as u32) }
}

/// The namespace's Identify data structure.
fn identify(file: &File, number: u32) -> std::io::Result<[u8; IDENTITY_BYTES]> {
    let mut identity = [0u8; IDENTITY_BYTES];
    let address = identity.as_mut_ptr() as u64;
    let mut bytes = command(IDENTIFY, number, address, IDENTITY_BYTES as u32, [0; 3]);
    // SAFETY: the ioctl reads and writes the first `COMMAND_BYTES` of the command,
    // and writes the data that it points to, of the length that it gives.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), IOCTL_ADMIN, bytes.as_mut_ptr()) };
    match result {
        0 => Ok(identity),
        // The drive's status.
        1.. => Err(std::io::Error::from_raw_os_error(libc::EIO)),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// The block size of a namespace of `capacity_bytes`, as a power of two, or why
/// commands to it are not made here.
fn block_shift(identity: &[u8; IDENTITY_BYTES], capacity_bytes: u64) -> Result<u32, String> {
    let blocks = u64::from_le_bytes(std::array::from_fn(|index| identity[index]));
    // FLBAS: bits 3 to 0 and, above them, 6 and 5 choose one of the formats.
    let chosen = identity[26];
    let format = usize::from((chosen & 0xF) | (chosen >> 1 & 0x30));
    let [low, high, shift, _] = std::array::from_fn(|index| identity[128 + 4 * format + index]);
    let metadata_bytes = u16::from_le_bytes([low, high]);
    if metadata_bytes > 0 {
        return Err(format!(
            "has {metadata_bytes} bytes of metadata in every block, which the engine nvme does not carry"
        ));
    }
    if !(9..=16).contains(&shift) || blocks.checked_shl(u32::from(shift)) != Some(capacity_bytes) {
        return Err("identifies itself with another size than the kernel knows".into());
    }
    Ok(u32::from(shift))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffers::Buffers;
    use crate::engine::Engine;
    use crate::system::ring::Ring;
    use crate::unavailable::Unavailable;
    use std::io::Write;

    #[test]
    fn the_block_device_of_an_nvme_namespace_is_named() {
        let of = |path: &str| block_device_of(Path::new(path));
        assert_eq!(of("/dev/ng12n3"), Some("/dev/nvme12n3".into()));
        for other in ["/dev/ng0", "/dev/ngn1", "/dev/null", "/tmp/ng0n1", "/dev/ng0n1x"] {
            assert_eq!(of(other), None, "{other}");
        }
        assert_eq!(namespace_name(Path::new("/dev/nvme0n1p2"), "nvme"), None);
    }

    #[test]
    fn numbers_of_ioctls_are_those_of_the_header() {
        assert_eq!((IOCTL_ID, IOCTL_ADMIN), (0x4E40, 0xC048_4E41));
        assert_eq!(URING_IO, 0xC048_4E80);
    }

    fn transfer(operation: Operation) -> Transfer {
        Transfer {
            slot: 0,
            operation,
            offset_bytes: 0x1_2345_6789 << 9,
            length_bytes: 4096,
            fua: operation == Operation::Write,
            pointer: 0x7F00_1234_5000 as *mut u8,
            piece: 0,
        }
    }

    /// Bytes of a command other than 0, with their places.
    fn set_bytes(operation: Operation) -> Vec<(usize, u8)> {
        let commands = NvmeCommands { number: 0x0A0B, block_shift: 9 };
        let bytes = commands.command(&transfer(operation)).unwrap();
        (0..ROOM_BYTES).map(|place| (place, bytes[place])).filter(|&(_, byte)| byte != 0).collect()
    }

    // Places as in `struct nvme_uring_cmd`: opcode 0, nsid 4, addr 24, data_len 36,
    // cdw10 40, cdw11 44, cdw12 48.
    #[cfg(target_endian = "little")]
    #[test]
    fn commands_are_laid_out_as_the_kernel_has_them() {
        let address = [(25, 0x50), (26, 0x34), (27, 0x12), (29, 0x7F)];
        let block = [(37, 0x10), (40, 0x89), (41, 0x67), (42, 0x45), (43, 0x23), (44, 0x01)];
        let of = |opcode, last: &[(usize, u8)]| {
            let start = [(0, opcode), (4, 0x0B), (5, 0x0A)];
            [&start[..], &address, &block, last].concat()
        };
        assert_eq!(set_bytes(Operation::Read), of(0x02, &[(48, 7)]));
        // Forced to the medium.
        assert_eq!(set_bytes(Operation::Write), of(0x01, &[(48, 7), (51, 0x40)]));
        assert_eq!(set_bytes(Operation::Flush), [(4, 0x0B), (5, 0x0A)]);
    }

    #[test]
    fn the_block_size_is_that_of_the_chosen_format() {
        let mut identity = [0; IDENTITY_BYTES];
        identity[..8].copy_from_slice(&1_000u64.to_le_bytes());
        // Format 0: 512 bytes; 1: 4096; 17: 4096 with 8 bytes of metadata.
        (identity[130], identity[134]) = (9, 12);
        (identity[128 + 68], identity[130 + 68]) = (8, 12);
        assert_eq!(block_shift(&identity, 512_000), Ok(9));
        identity[26] = 0x01;
        assert_eq!(block_shift(&identity, 4_096_000), Ok(12));
        assert!(block_shift(&identity, 512_000).unwrap_err().contains("another size"));
        identity[26] = 0x21;
        assert!(block_shift(&identity, 4_096_000).unwrap_err().contains("8 bytes of metadata"));
        identity[26] = 0x02;
        assert!(block_shift(&identity, 1_000).unwrap_err().contains("another size"));
    }

    /// What becomes of a read by command of a file that is no namespace; `None`
    /// where there is no such ring.
    fn read_of(path: &str) -> Option<i32> {
        let file = File::open(path).unwrap();
        let mut buffers = Buffers::new(1, 4096, false).unwrap();
        let commands = NvmeCommands { number: 1, block_shift: 9 };
        let ring = Ring::new(1, &file, &mut buffers, &Engine::default(), commands);
        let Ok(mut ring) = ring.map_err(Unavailable::refusal) else {
            let _ = writeln!(std::io::stderr(), "skipped: no io_uring with long entries");
            return None;
        };
        let pointer = buffers.pointer(0, 4096);
        ring.submit(&Transfer { pointer, offset_bytes: 0, ..transfer(Operation::Read) });
        let mut done = Vec::new();
        let give_up_ns = ring.now_ns() + 10_000_000_000;
        while done.is_empty() && ring.now_ns() < give_up_ns {
            ring.wait(give_up_ns, &mut done).unwrap();
        }
        Some(done[0].errno)
    }

    #[test]
    fn commands_go_through_a_ring_of_long_entries() {
        // The null device takes any command since Linux 6.0, a regular file none.
        if let Some(errno) = read_of("/dev/null") {
            assert!(matches!(errno, 0 | libc::EOPNOTSUPP), "{errno}");
        }
        if let Some(errno) = read_of("/proc/self/exe") {
            assert_eq!(errno, libc::EOPNOTSUPP);
        }
    }
}
