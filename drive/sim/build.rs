//! Tells `src/state.rs` the fingerprint of all code whose types are in a saved
//! state: the models, and the requests that wait in them.

#[path = "build/sources.rs"]
mod sources;

use std::path::Path;

fn main() {
    let folders = ["src", "../../workload/src"];
    let fingerprint = sources::fingerprint(&folders.map(Path::new));
    let fingerprint = fingerprint.expect("the source code is readable");
    println!("cargo::rustc-env=MODEL_SOURCES_FINGERPRINT={fingerprint}");
    for folder in folders {
        println!("cargo::rerun-if-changed={folder}");
    }
}
