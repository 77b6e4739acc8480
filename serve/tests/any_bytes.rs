//! What fuzz/targets/nbd.rs does, with bytes that are close to what clients send: they
//! are answered or refused, and what is taken in stays small.

use fourcorners_serve::Served;
use fourcorners_serve::data::Data;
use fourcorners_serve::nbd::{Connection, Export};
use fourcorners_target::NoopTarget;
use proptest::prelude::*;

const CAPACITY_BYTES: u64 = 1 << 20;
const GREETED: &[u8] = b"\0\0\0\x03IHAVEOPT\0\0\0\x08\0\0\0\0IHAVEOPT\0\0\0\x0a\0\0\0\x1b\
    \0\0\0\0\0\0\0\x01\0\0\0\x0fbase:allocationIHAVEOPT\0\0\0\x01\0\0\0\0";

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..4096u64, (0..CAPACITY_BYTES / 512).prop_map(|n| n * 512), any::<u64>()]
}

fn request() -> impl Strategy<Value = Vec<u8>> {
    let head = (0..12u16, 0..32u16, number(), number());
    (head, prop::collection::vec(any::<u8>(), 0..1500)).prop_map(
        |((command, flags, offset, length), data)| {
            let mut bytes = 0x2560_9513u32.to_be_bytes().to_vec();
            bytes.extend(flags.to_be_bytes());
            bytes.extend(command.to_be_bytes());
            bytes.extend(7u64.to_be_bytes());
            bytes.extend(offset.to_be_bytes());
            bytes.extend((length as u32).to_be_bytes());
            if command == 1 {
                bytes.extend(data);
            }
            bytes
        },
    )
}

fn option() -> impl Strategy<Value = Vec<u8>> {
    (0..13u32, prop::collection::vec(0..20u8, 0..40)).prop_map(|(number, data)| {
        let mut bytes = b"IHAVEOPT".to_vec();
        bytes.extend(number.to_be_bytes());
        bytes.extend((data.len() as u32).to_be_bytes());
        bytes.extend(data);
        bytes
    })
}

proptest! {
    #[test]
    fn any_bytes_are_answered_or_refused(
        is_greeted: bool,
        is_read_only: bool,
        has_trim: bool,
        parts in prop::collection::vec(
            prop_oneof![request(), option(), prop::collection::vec(any::<u8>(), 0..60)], 0..20
        ),
        size in 1..4000usize,
    ) {
        let mut drive = NoopTarget::new(CAPACITY_BYTES, 1_000);
        let mut served = Served::new(&mut drive, Data::in_memory(CAPACITY_BYTES), 1).unwrap();
        let export = Export {
            capacity_bytes: CAPACITY_BYTES,
            description: "tried".into(),
            is_read_only,
            has_trim,
        };
        let mut connection = Connection::default();
        let (mut finished, mut of_device) = (Vec::new(), Vec::new());
        let greeted = if is_greeted { GREETED } else { b"" };
        let bytes = [greeted, &parts.concat()].concat();
        let mut now_ns = 0;
        for piece in bytes.chunks(size) {
            connection.take(3, piece, &export, &mut served, &mut of_device);
            now_ns += 10_000;
            served.advance(now_ns, &mut finished).unwrap();
            for finished in finished.drain(..) {
                connection.finished(&finished);
            }
            let sent = connection.output(&mut served).unwrap().len();
            connection.sent(sent);
            prop_assert!(connection.held().0 <= 2 * bytes.len() as u64);
            if connection.is_over() {
                break;
            }
        }
    }
}
