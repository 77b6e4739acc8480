//! docs/drive-files.md lists the sections and parameters that are read, all of
//! them and no others.

use crate::support::{drive_file, log_block_file};
use fourcorners_sim::SimulatedDrive;
use std::collections::BTreeMap;

/// Names of parameters by section, by kind.
type Lists = BTreeMap<String, BTreeMap<String, Vec<String>>>;

fn documented() -> Lists {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/drive-files.md");
    let mut lists = Lists::new();
    let mut place = None;
    for line in std::fs::read_to_string(path).unwrap().lines() {
        if let Some(heading) = line.strip_prefix("### ") {
            let (kind, section) = heading.split_once(": ").unwrap();
            lists.entry(kind.into()).or_default().insert(section.into(), Vec::new());
            place = Some((kind.to_string(), section.to_string()));
        } else if let (Some((kind, section)), Some(row)) = (&place, line.strip_prefix("| `")) {
            let name = row.split('`').next().unwrap().to_string();
            lists.get_mut(kind).unwrap().get_mut(section).unwrap().push(name);
        }
    }
    lists
}

/// The names that a message says were expected in the place of `unknown`.
fn expected(message: &str) -> Vec<String> {
    let (place, list) = message.split_once(": use ").unwrap_or_else(|| panic!("{message}"));
    assert!(place.contains("unknown: there is no such "), "{message}");
    list.split(", ").map(String::from).collect()
}

fn refusal(text: &str) -> String {
    SimulatedDrive::new(text, &[], 1).unwrap_err().to_string()
}

#[test]
fn the_documented_parameters_are_those_that_are_read() {
    let array = "name = \"a\"\nkind = \"raid-0\"\nsummary = \"a\"\n[host]\noverhead = { value = \"0 us\", source = \"t\" }\n[array]\nchunk = { value = \"4 KiB\", source = \"t\" }\n";
    let documented = documented();
    let kinds = [
        ("page-mapped-ssd", drive_file("ocz-vector-256gb")),
        ("block-mapped-ssd", drive_file("ocz-core-64gb")),
        ("log-block-ssd", log_block_file()),
        ("disk", drive_file("wd6400aaks")),
        ("raid-0", array.to_string()),
    ];
    assert_eq!(documented.len(), kinds.len());
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    for (kind, text) in kinds {
        let sections = &documented[kind];
        let read = sorted(expected(&refusal(&format!("{text}\n[unknown]\n"))));
        assert_eq!(sections.keys().cloned().collect::<Vec<_>>(), read, "sections of {kind}");
        for (section, parameters) in sections {
            let header = format!("[{section}]\n");
            let text = match text.contains(&header) {
                true => text.replacen(&header, &format!("{header}unknown = 1\n"), 1),
                false => format!("{text}\n{header}unknown = 1\n"),
            };
            let read = sorted(expected(&refusal(&text)));
            assert_eq!(sorted(parameters.clone()), read, "parameters of {kind}: {section}");
        }
    }
}
