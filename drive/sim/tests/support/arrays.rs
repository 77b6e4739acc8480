//! Arrays of drives of the catalog.

use super::{drive_file, owned, resized};
use fourcorners_sim::{SimulatedDrive, SpecificationError};

/// RAID 0 of `n` equal drives, with chunks of 128 KiB.
pub fn array(member: &str, n: u32, settings: &[(&str, &str)]) -> SimulatedDrive {
    try_array(member, n, settings).unwrap()
}

pub fn try_array(
    member: &str,
    n: u32,
    settings: &[(&str, &str)],
) -> Result<SimulatedDrive, SpecificationError> {
    let text = array_file(&format!(
        "member = {{ value = \"{member}\", source = \"test\" }}\n\
         count = {{ value = {n}, source = \"test\" }}\n"
    ));
    let texts = [(member.to_string(), resized(&drive_file(member), settings))];
    SimulatedDrive::with_members(&text, &texts, &owned(settings), 1)
}

/// RAID 0 of drives that may differ.
pub fn array_of(members: &[&str], settings: &[(&str, &str)]) -> SimulatedDrive {
    let text = |name: &&str| (name.to_string(), resized(&drive_file(name), settings));
    array_of_files(&members.iter().map(text).collect::<Vec<_>>(), settings)
}

/// RAID 0 of drives that are given with their names and texts.
pub fn array_of_files(files: &[(String, String)], settings: &[(&str, &str)]) -> SimulatedDrive {
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    let text = array_file(&format!("members = {{ value = {names:?}, source = \"test\" }}\n"));
    SimulatedDrive::with_members(&text, files, &owned(settings), 1).unwrap()
}

fn array_file(members: &str) -> String {
    format!(
        "name = \"Array\"\nkind = \"raid-0\"\nsummary = \"An array.\"\n\
         [host]\noverhead = {{ value = \"0 us\", source = \"test\" }}\n\
         data_rate = {{ value = \"100 GB/s\", source = \"test\" }}\n\
         [array]\nchunk = {{ value = \"128 KiB\", source = \"test\" }}\n{members}"
    )
}
