//! Any bytes as what an NBD client sends, in any pieces: the handshake and the requests
//! are answered or refused, and what is taken in stays small.

#![no_main]

use fourcorners_serve::Served;
use fourcorners_serve::data::Data;
use fourcorners_serve::nbd::{Connection, Export};
use fourcorners_target::NoopTarget;
use libfuzzer_sys::fuzz_target;

const CAPACITY_BYTES: u64 = 1 << 20;
/// What a client that agrees to everything sends first.
const GREETED: &[u8] = b"\0\0\0\x03IHAVEOPT\0\0\0\x08\0\0\0\0IHAVEOPT\0\0\0\x0a\0\0\0\x1b\
    \0\0\0\0\0\0\0\x01\0\0\0\x0fbase:allocationIHAVEOPT\0\0\0\x01\0\0\0\0";

fuzz_target!(|input: &[u8]| {
    let Some((&how, rest)) = input.split_first() else { return };
    let mut drive = NoopTarget::new(CAPACITY_BYTES, 1_000);
    let data = Data::in_memory(CAPACITY_BYTES);
    let mut served = Served::new(&mut drive, data, 1).expect("it has no needs");
    let export = Export {
        capacity_bytes: CAPACITY_BYTES,
        description: "fuzzed".into(),
        is_read_only: how & 1 != 0,
        has_trim: how & 2 != 0,
    };
    let mut connection = Connection::default();
    let (mut finished, mut of_device) = (Vec::new(), Vec::new());
    let mut now_ns = 0;
    let greeted: &[u8] = if how & 4 != 0 { GREETED } else { &[] };
    let size = usize::from(how >> 3) * 7 + 1;
    for piece in greeted.chunks(size).chain(rest.chunks(size)) {
        connection.take(3, piece, &export, &mut served, &mut of_device);
        now_ns += 10_000;
        served.advance(now_ns, &mut finished).expect("it does not fail");
        for finished in finished.drain(..) {
            connection.finished(&finished);
        }
        let sent = connection.output(&mut served).expect("memory can be read").len();
        connection.sent(sent);
        assert!(connection.held().0 <= 2 * (rest.len() as u64), "it takes in more than came");
        if connection.is_over() {
            return;
        }
    }
});
