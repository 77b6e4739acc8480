//! How the simulated drives behave, against closed forms, published figures and properties. All files are
//! one program, because each program is linked with the whole simulator.

#[path = "../support/mod.rs"]
mod support;

mod block_mapped;
mod caches;
mod changed_states;
mod classes;
mod content;
mod disk;
mod drive_files;
mod durability;
mod full_pools;
mod idle_collection;
mod log_block;
mod page_mapped;
mod planes;
mod power;
mod properties;
mod queueing;
mod raid0;
mod slc_cache;
mod soak;
mod state;
mod variation;
mod wear;

/// Rust passes over a file that nobody declares.
#[test]
fn every_file_here_is_compiled() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/behaviour");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = format!("mod {};", name.trim_end_matches(".rs"));
        assert!(
            name == "main.rs" || include_str!("main.rs").lines().any(|line| line == module),
            "main.rs does not declare {name}"
        );
    }
}
