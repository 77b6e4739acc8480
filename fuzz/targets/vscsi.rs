//! Any bytes as vscsi: they are read to their end, or refused in a sentence, and what is
//! read can be counted and written.

#![no_main]

#[allow(dead_code, reason = "this target uses a part")]
mod traces;

use fourcorners_trace::Format;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| traces::read(data, Format::Vscsi));
