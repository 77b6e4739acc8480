//! Settings: parameters that somebody replaces, by their path.

use super::SpecificationError;
use super::wording::{nearest, unknown};

/// Replaces a parameter's value, or adds a parameter to a section. That the
/// section has such a parameter is checked when it is read.
pub fn set(table: &mut toml::Table, path: &str, value: &str) -> Result<(), SpecificationError> {
    let Some((place, name)) = path.rsplit_once('.') else {
        return Err(SpecificationError(without_section(table, path)));
    };
    let mut section = &mut *table;
    for (depth, key) in place.split('.').enumerate() {
        let known: Vec<String> = names(section).map(String::from).collect();
        section = section.get_mut(key).and_then(toml::Value::as_table_mut).ok_or_else(|| {
            let before: Vec<&str> = place.split('.').take(depth).collect();
            let at = if before.is_empty() { ".".to_string() } else { before.join(".") };
            let message = match nearest(key, known.iter().map(String::as_str)) {
                Some(meant) if depth == 0 => {
                    let meant = path.replacen(key, meant, 1);
                    format!("{path}: this drive has no section {key}: did you mean {meant}?")
                }
                _ if depth == 0 => {
                    format!("{path}: this drive has no section {key}: it has {}", known.join(", "))
                }
                _ => unknown(&at, key, &known),
            };
            SpecificationError(message)
        })?;
    }
    // A value is TOML where it is (numbers, booleans, lists), otherwise text.
    let value = format!("v = {value}")
        .parse::<toml::Table>()
        .ok()
        .filter(|parsed| parsed.len() == 1)
        .and_then(|mut parsed| parsed.remove("v"))
        .unwrap_or_else(|| toml::Value::String(value.to_string()));
    let source = toml::Value::String("set by the user".into());
    let parameter = toml::Table::from_iter([("value".into(), value), ("source".into(), source)]);
    section.insert(name.to_string(), toml::Value::Table(parameter));
    Ok(())
}

/// The sections of a drive file.
fn names(table: &toml::Table) -> impl Iterator<Item = &str> {
    table.iter().filter(|(_, value)| value.is_table()).map(|(name, _)| name.as_str())
}

/// What is said of a path without a section: where its parameter may be.
fn without_section(table: &toml::Table, name: &str) -> String {
    let mut paths: Vec<(&str, &str)> = Vec::new();
    for section in names(table) {
        let parameters = table[section].as_table().into_iter().flat_map(toml::Table::keys);
        paths.extend(parameters.map(|parameter| (section, parameter.as_str())));
    }
    let meant = nearest(name, paths.iter().map(|(_, parameter)| *parameter));
    let meant = paths.iter().filter(|(_, parameter)| Some(*parameter) == meant);
    let found: Vec<String> =
        meant.map(|(section, parameter)| format!("{section}.{parameter}")).collect();
    let hint = match &found[..] {
        [] => "write SECTION.PARAMETER, such as host.overhead".to_string(),
        found => format!("did you mean {}?", found.join(" or ")),
    };
    format!("{name}: the section is missing: {hint}")
}
