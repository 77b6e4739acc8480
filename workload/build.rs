//! Tells `src/lib.rs` the fingerprint of this crate's code: requests wait in saved states.

#[path = "build/sources.rs"]
mod sources;

use std::path::Path;

fn main() {
    let fingerprint = sources::fingerprint(&[Path::new("src")]);
    let fingerprint = fingerprint.expect("the source code is readable");
    println!("cargo::rustc-env=SOURCES_FINGERPRINT={fingerprint}");
    println!("cargo::rerun-if-changed=src");
}
