//! Something that was found on a device.

/// Messages count places in these.
const SECTOR_BYTES: u64 = 512;
/// Longest label that a message repeats.
const LABEL_CHARACTERS_MAX: usize = 32;

/// Something that was found, at a byte of the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    pub what: String,
    pub label: Option<String>,
    pub offset: u64,
}

impl Signature {
    /// As a message names it.
    pub(super) fn words(&self) -> String {
        let sector = self.offset / SECTOR_BYTES;
        match self.label.as_deref().filter(|label| !label.is_empty()) {
            Some(label) => {
                let label: String = label.chars().take(LABEL_CHARACTERS_MAX).collect();
                format!("{} labelled '{label}' (sector {sector})", self.what)
            }
            None => format!("{} (sector {sector})", self.what),
        }
    }
}
