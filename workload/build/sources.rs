//! A fingerprint of source code.

use std::fs;
use std::hash::Hasher;
use std::io;
use std::path::{Path, PathBuf};
use twox_hash::XxHash3_64;

/// 16 hexadecimal digits that change when a Rust file below one of the folders
/// changes, comes, goes or is renamed.
///
/// # Errors
/// A folder or file that cannot be read.
pub fn fingerprint(folders: &[&Path]) -> io::Result<String> {
    let mut hash = XxHash3_64::new();
    for folder in folders {
        let mut files = Vec::new();
        rust_files(folder, &mut files)?;
        // The file system lists them in any order.
        files.sort();
        for file in files {
            let name = file.strip_prefix(folder).unwrap_or(&file).to_string_lossy().into_owned();
            let text = fs::read(&file)?;
            for part in [name.as_bytes(), &text[..]] {
                hash.write(&(part.len() as u64).to_le_bytes());
                hash.write(part);
            }
        }
    }
    Ok(format!("{:016x}", hash.finish()))
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            rust_files(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(())
}
