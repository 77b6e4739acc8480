//! What the targets of traces share: bytes as a file, and all that is done with a trace.

use fourcorners_trace::{Error, Format, Input, inform, transform};
use std::path::PathBuf;

/// Reads, counts and writes a file with these bytes, if it is of that format.
pub fn read(data: &[u8], format: Format) {
    let path = file("trace");
    std::fs::write(&path, data).expect("there is room for some KiB");
    let Some(input) = told(Input::open(&path, Some(format))) else { return };
    let inputs = [input];
    let found = told(inform(&inputs, &mut |_| true));
    let out = file("out");
    let _ = std::fs::remove_file(&out);
    let written = told(transform(&inputs, None, &out, Format::Parquet, &mut |_| true));
    // Both read it, or both refuse it; and what was written is read again.
    assert_eq!(found.is_some(), written.is_some());
    if let (Some(found), Some(written)) = (found, written) {
        assert_eq!(found.ios, written.ios);
        let own = [Input::open(&out, None).expect("it was written")];
        let again = inform(&own, &mut |_| true).expect("it was written");
        assert_eq!(again.ios, found.ios);
        assert_eq!(again.length_ns, found.length_ns);
    }
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
