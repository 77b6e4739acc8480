//! The kernel's words, of `linux/ublk_cmd.h` in Linux 6.4 and later. They are part of what
//! Linux does not change for programs.

use rustix::ioctl::opcode;

/// The drivers' group of commands.
const GROUP: u8 = b'u';

/// About devices, at `/dev/ublk-control`.
pub const GET_DEV_INFO: u32 = opcode::read::<ControlCommand>(GROUP, 0x02);
pub const ADD_DEV: u32 = opcode::read_write::<ControlCommand>(GROUP, 0x04);
pub const DEL_DEV: u32 = opcode::read_write::<ControlCommand>(GROUP, 0x05);
pub const START_DEV: u32 = opcode::read_write::<ControlCommand>(GROUP, 0x06);
pub const STOP_DEV: u32 = opcode::read_write::<ControlCommand>(GROUP, 0x07);
pub const SET_PARAMS: u32 = opcode::read_write::<ControlCommand>(GROUP, 0x08);
/// Of newer kernels: it does not wait for those who have the device open.
pub const DEL_DEV_ASYNC: u32 = opcode::read::<ControlCommand>(GROUP, 0x14);

/// About requests, at `/dev/ublkcN`.
pub const FETCH: u32 = opcode::read_write::<IoCommand>(GROUP, 0x20);
pub const COMMIT_AND_FETCH: u32 = opcode::read_write::<IoCommand>(GROUP, 0x21);

/// What a fetch ends with when the device is stopped.
pub const ABORTED: i32 = -libc::ENODEV;

/// Requests come by task work of the ring, which whoever waits for the ring hears of.
pub const COMPLETES_IN_TASK: u64 = 1 << 1;
/// The commands are encoded as those of `ioctl` are.
pub const IOCTL_ENCODED: u64 = 1 << 6;

/// The kernel may name the new device.
pub const ANY_DEVICE: u32 = u32::MAX;
pub const NO_QUEUE: u16 = u16::MAX;

/// Operations, the low byte of [`Descriptor::op_flags`].
pub const READ: u8 = 0;
pub const WRITE: u8 = 1;
pub const FLUSH: u8 = 2;
pub const DISCARD: u8 = 3;
pub const WRITE_ZEROES: u8 = 5;
/// Flags in the same word.
pub const FUA: u32 = 1 << 13;
pub const NO_UNMAP: u32 = 1 << 15;

/// Of [`Params::types`].
pub const HAS_BASIC: u32 = 1 << 0;
pub const HAS_DISCARD: u32 = 1 << 1;
/// Of [`Basic::attributes`].
pub const IS_READ_ONLY: u32 = 1 << 0;
pub const HAS_VOLATILE_CACHE: u32 = 1 << 2;
pub const HAS_FUA: u32 = 1 << 3;

/// `struct ublksrv_ctrl_cmd`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ControlCommand {
    pub dev_id: u32,
    pub queue_id: u16,
    pub len: u16,
    pub addr: u64,
    pub data: u64,
    pub dev_path_len: u16,
    pub pad: u16,
    pub reserved: u32,
}

/// `struct ublksrv_ctrl_dev_info`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct DeviceInfo {
    pub hardware_queues: u16,
    pub queue_depth: u16,
    pub state: u16,
    pub pad0: u16,
    pub io_bytes_max: u32,
    pub dev_id: u32,
    pub server_pid: i32,
    pub pad1: u32,
    pub flags: u64,
    /// The server's own, which the driver keeps.
    pub server_flags: u64,
    pub owner_uid: u32,
    pub owner_gid: u32,
    pub reserved: [u64; 2],
}

/// `struct ublksrv_io_desc`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Descriptor {
    pub op_flags: u32,
    pub sectors: u32,
    pub start_sector: u64,
    pub addr: u64,
}

/// `struct ublksrv_io_cmd`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct IoCommand {
    pub queue_id: u16,
    pub tag: u16,
    pub result: i32,
    pub addr: u64,
}

/// `struct ublk_param_basic`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Basic {
    pub attributes: u32,
    pub logical_block_shift: u8,
    pub physical_block_shift: u8,
    pub io_opt_shift: u8,
    pub io_min_shift: u8,
    pub sectors_max: u32,
    pub chunk_sectors: u32,
    pub device_sectors: u64,
    pub virt_boundary_mask: u64,
}

/// `struct ublk_param_discard`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discard {
    pub alignment_bytes: u32,
    pub granularity_bytes: u32,
    pub sectors_max: u32,
    pub zero_sectors_max: u32,
    pub segments_max: u16,
    pub reserved: u16,
}

/// The front of `struct ublk_params`, as much of it as there is to say.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Params {
    pub len: u32,
    pub types: u32,
    pub basic: Basic,
    pub discard: Discard,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};
    use std::path::Path;
    use std::process::Command;

    /// What the C compiler makes of the header, word by word; of words that an older one does
    /// not have, nothing.
    #[test]
    fn the_words_are_those_of_the_kernels_header() {
        if !Path::new("/usr/include/linux/ublk_cmd.h").exists() {
            eprintln!("skipped: there is no linux/ublk_cmd.h (Debian: linux-libc-dev)");
            return;
        }
        // The header's encoded commands are newer than its numbers.
        let command = |direction: &str, number: &str, of: &str| {
            format!("_IO{direction}('u', {number}, struct {of})")
        };
        let control = |number: &str| command("WR", number, "ublksrv_ctrl_cmd");
        let words: Vec<(String, u64)> = [
            (command("R", "UBLK_CMD_GET_DEV_INFO", "ublksrv_ctrl_cmd"), u64::from(GET_DEV_INFO)),
            (control("UBLK_CMD_ADD_DEV"), ADD_DEV.into()),
            (control("UBLK_CMD_DEL_DEV"), DEL_DEV.into()),
            (control("UBLK_CMD_START_DEV"), START_DEV.into()),
            (control("UBLK_CMD_STOP_DEV"), STOP_DEV.into()),
            (control("UBLK_CMD_SET_PARAMS"), SET_PARAMS.into()),
            (command("WR", "UBLK_IO_FETCH_REQ", "ublksrv_io_cmd"), FETCH.into()),
            (
                command("WR", "UBLK_IO_COMMIT_AND_FETCH_REQ", "ublksrv_io_cmd"),
                COMMIT_AND_FETCH.into(),
            ),
            ("UBLK_IO_RES_ABORT".into(), ABORTED as i64 as u64),
            ("UBLK_F_URING_CMD_COMP_IN_TASK".into(), COMPLETES_IN_TASK),
            ("UBLK_IO_OP_READ".into(), READ.into()),
            ("UBLK_IO_OP_WRITE".into(), WRITE.into()),
            ("UBLK_IO_OP_FLUSH".into(), FLUSH.into()),
            ("UBLK_IO_OP_DISCARD".into(), DISCARD.into()),
            ("UBLK_IO_OP_WRITE_ZEROES".into(), WRITE_ZEROES.into()),
            ("UBLK_IO_F_FUA".into(), FUA.into()),
            ("UBLK_IO_F_NOUNMAP".into(), NO_UNMAP.into()),
            ("UBLK_PARAM_TYPE_BASIC".into(), HAS_BASIC.into()),
            ("UBLK_PARAM_TYPE_DISCARD".into(), HAS_DISCARD.into()),
            ("UBLK_ATTR_READ_ONLY".into(), IS_READ_ONLY.into()),
            ("UBLK_ATTR_VOLATILE_CACHE".into(), HAS_VOLATILE_CACHE.into()),
            ("UBLK_ATTR_FUA".into(), HAS_FUA.into()),
        ]
        .into_iter()
        .chain(
            [
                ("sizeof(struct ublksrv_ctrl_cmd)", size_of::<ControlCommand>()),
                ("offsetof(struct ublksrv_ctrl_cmd, data)", offset_of!(ControlCommand, data)),
                ("sizeof(struct ublksrv_ctrl_dev_info)", size_of::<DeviceInfo>()),
                (
                    "offsetof(struct ublksrv_ctrl_dev_info, ublksrv_flags)",
                    offset_of!(DeviceInfo, server_flags),
                ),
                ("sizeof(struct ublksrv_io_desc)", size_of::<Descriptor>()),
                ("sizeof(struct ublksrv_io_cmd)", size_of::<IoCommand>()),
                ("offsetof(struct ublksrv_io_cmd, result)", offset_of!(IoCommand, result)),
                ("sizeof(struct ublk_param_basic)", size_of::<Basic>()),
                (
                    "offsetof(struct ublk_param_basic, dev_sectors)",
                    offset_of!(Basic, device_sectors),
                ),
                ("offsetof(struct ublk_params, discard)", offset_of!(Params, discard)),
                ("sizeof(struct ublk_param_discard)", size_of::<Discard>()),
            ]
            .map(|(word, value)| (word.to_string(), value as u64)),
        )
        .collect();
        let lines: String = words
            .iter()
            .map(|(word, _)| format!("printf(\"%lld\\n\", (long long)({word}));\n"))
            .collect();
        let program = format!(
            "#include <errno.h>\n#include <stddef.h>\n#include <stdio.h>\n\
             #include <sys/ioctl.h>\n#include <linux/ublk_cmd.h>\n\
             int main(void) {{\n{lines}return 0;\n}}\n"
        );
        let folder = std::env::temp_dir().join(format!("fourcorners-abi-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let (source, made) = (folder.join("words.c"), folder.join("words"));
        std::fs::write(&source, program).unwrap();
        let compiled = Command::new("cc").arg(&source).arg("-o").arg(&made).output().unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let printed = Command::new(&made).output().unwrap().stdout;
        std::fs::remove_dir_all(&folder).unwrap();
        let printed = String::from_utf8(printed).unwrap();
        let theirs: Vec<u64> =
            printed.lines().map(|line| line.parse::<i64>().unwrap() as u64).collect();
        assert_eq!(theirs.len(), words.len());
        for ((word, ours), theirs) in words.iter().zip(theirs) {
            assert_eq!(*ours, theirs, "{word}");
        }
    }
}
