//! What the targets of traces share: bytes as a file, and all that is done with a trace.

use fourcorners_trace::{Error, Format, Input, inform, read_all, transform};
use std::path::PathBuf;

/// Traces that move more are written and read, but not counted: counting takes time by the byte, so
/// that one request of a GB takes that of a thousand other inputs. A choice.
const COUNTED_BYTES_MAX: u64 = 64 << 20;

/// Reads, counts and writes a file with these bytes, if it is of that format.
pub fn read(data: &[u8], format: Format) {
    let path = file("trace");
    std::fs::write(&path, data).expect("there is room for some KiB");
    let Some(input) = told(Input::open(&path, Some(format))) else { return };
    let moved_bytes = moved_bytes(&input);
    let inputs = [input];
    let out = file("out");
    let _ = std::fs::remove_file(&out);
    let written = told(transform(&inputs, None, &out, Format::Parquet, None, &mut |_| true));
    let own =
        written.map(|written| (written.ios, Input::open(&out, None).expect("it was written")));
    if moved_bytes > COUNTED_BYTES_MAX {
        if let Some((ios, own)) = own {
            let again = read_all(&mut *own.reader().expect("it was written"));
            assert_eq!(again.expect("it was written").0.len() as u64, ios);
        }
        return;
    }
    let found = told(inform(&inputs, &mut |_| true));
    // Both read it, or both refuse it; and what was written is read again.
    assert_eq!(found.is_some(), own.is_some());
    if let (Some(found), Some((ios, own))) = (found, own) {
        assert_eq!(found.ios, ios);
        let again = inform(&[own], &mut |_| true).expect("it was written");
        assert_eq!(again.ios, found.ios);
        assert_eq!(again.length_ns, found.length_ns);
    }
}

/// Bytes of all requests before the end, or before what cannot be read.
fn moved_bytes(input: &Input) -> u64 {
    let Some(mut reader) = told(input.reader()) else { return 0 };
    let (mut batch, mut bytes) = (Vec::new(), 0_u64);
    while told(reader.fill(&mut batch)).is_some() && !batch.is_empty() {
        let lengths = batch.drain(..).map(|record| record.length_bytes);
        bytes = lengths.fold(bytes, u64::saturating_add);
    }
    bytes
}

fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("fourcorners-{name}-{}", std::process::id()))
}

fn told<T>(result: Result<T, Error>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            assert!(!error.to_string().contains('\n'));
            None
        }
    }
}
