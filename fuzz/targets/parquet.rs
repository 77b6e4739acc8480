//! Any bytes as our own Parquet: they are read to their end, or refused in a sentence, and what is
//! read can be counted and written.

#![no_main]

#[allow(dead_code, reason = "this target uses a part")]
mod traces;

use fourcorners_trace::Format;
use libfuzzer_sys::fuzz_target;
use std::panic::PanicHookInfo;

fuzz_target!(
    init: std::panic::set_hook(Box::new(quiet)),
    |data: &[u8]| traces::read(data, Format::Parquet)
);

/// The library asserts some of what a damaged file breaks, and our reader catches that: a panic
/// ends the fuzzer only where nobody catches it.
fn quiet(panic: &PanicHookInfo<'_>) {
    if !panic.location().is_some_and(|place| place.file().contains("parquet-")) {
        eprintln!("{panic}");
    }
}
