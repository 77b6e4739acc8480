//! Tells `src/state.rs` the fingerprint of the models' code, whose types are in a
//! saved state.

#[path = "build/sources.rs"]
mod sources;

use std::path::Path;

fn main() {
    let fingerprint = sources::fingerprint(&[Path::new("src")]);
    let fingerprint = fingerprint.expect("the source code is readable");
    println!("cargo::rustc-env=MODEL_SOURCES_FINGERPRINT={fingerprint}");
    println!("cargo::rerun-if-changed=src");
}
