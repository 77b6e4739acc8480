//! What is wrong in a drive file, in words of drive files: what the libraries that
//! read it say is about the types of this program.

/// The name among some that somebody may have meant, if one is close.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = name.to_lowercase();
    let distance = |known: &str| strsim::damerau_levenshtein(&plain, &known.to_lowercase());
    let (distance, nearest) =
        known.into_iter().map(|known| (distance(known), known)).min_by_key(|(d, _)| *d)?;
    // A third of the letters, as in the suggestions of most compilers.
    (distance <= (plain.chars().count() / 3).max(1)).then_some(nearest)
}

/// `place` of a drive file, `.` for all of it, and what serde or toml says of it.
pub fn plain(place: &str, message: &str) -> String {
    let message = message.trim().replace('\n', ", ");
    let inside = |name: &str| match place {
        "." => name.to_string(),
        _ => format!("{place}.{name}"),
    };
    let told = |what: String| match place {
        "." => what,
        _ => format!("{place}: {what}"),
    };
    if let Some(rest) = message.strip_prefix("unknown field ") {
        let [name, known @ ..] = &quoted(rest)[..] else {
            return told(message);
        };
        // The place is that of the name itself.
        let inside = place.strip_suffix(name.as_str()).map(|rest| rest.trim_end_matches('.'));
        return unknown(inside.filter(|inside| !inside.is_empty()).unwrap_or("."), name, known);
    }
    if let Some(rest) = message.strip_prefix("missing field ") {
        let name = quoted(rest).into_iter().next().unwrap_or_default();
        return match (name.as_str(), place) {
            ("name" | "kind" | "summary", ".") => {
                format!("{name}: it is missing; a drive file begins with name, kind and summary")
            }
            ("value" | "source", _) => {
                told(format!("its {name} is missing: write {{ value = ..., source = \"...\" }}"))
            }
            (_, ".") => format!("the section [{name}] is missing"),
            _ => format!("{}: it is missing, and a drive of this kind needs it", inside(&name)),
        };
    }
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        let [found, known @ ..] = &quoted(rest)[..] else {
            return told(message);
        };
        let hint = match nearest(found, known.iter().map(String::as_str)) {
            Some(meant) => format!("did you mean {meant}?"),
            None => format!("use {}", listed(known)),
        };
        return told(format!("there is no \"{found}\": {hint}"));
    }
    for start in ["invalid type: ", "invalid value: ", "invalid length "] {
        let parts = message.strip_prefix(start).and_then(|rest| rest.rsplit_once(", expected "));
        if let Some((found, expected)) = parts {
            return told(format!("expected {}, found {}", expectation(expected), value(found)));
        }
    }
    told(message)
}

/// A section or parameter that there is not, and those that there are.
pub fn unknown(place: &str, name: &str, known: &[String]) -> String {
    let at = if place == "." { String::new() } else { format!("{place}.") };
    let what = if place == "." { "section" } else { "parameter" };
    let hint = match nearest(name, known.iter().map(String::as_str)) {
        Some(meant) => format!("did you mean {at}{meant}?"),
        None => format!("use {}", listed(known)),
    };
    format!("{at}{name}: there is no such {what}: {hint}")
}

fn listed(names: &[String]) -> String {
    names.join(", ")
}

/// What stands between backticks.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(String::from).collect()
}

/// What was expected: a type of this program, or a phrase of its own.
fn expectation(expected: &str) -> String {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more".into(),
        "i64" => "a whole number".into(),
        "f32" | "f64" => "a number".into(),
        "a boolean" => "true or false".into(),
        "a string" => "text in quotes".into(),
        "a sequence" => "a list".into(),
        "struct Parameter" => "a value and its source: { value = ..., source = \"...\" }".into(),
        _ if expected.starts_with("struct ") => "a section with parameters".into(),
        _ if expected.starts_with("enum ") || expected.contains("identifier") => {
            "one of the names in docs/drive-files.md".into()
        }
        _ => expected.into(),
    }
}

/// What was found.
fn value(found: &str) -> String {
    let inner = || quoted(found).into_iter().next().unwrap_or_default();
    let (kind, _) = found.split_once(' ').unwrap_or((found, ""));
    match kind {
        "string" => format!("the text {}", found.trim_start_matches("string ")),
        "integer" | "boolean" | "floating" => inner(),
        "map" | "struct" => "a table".into(),
        "sequence" => "a list".into(),
        "unit" | "Option" => "nothing".into(),
        _ => found.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_close_are_found() {
        let known = ["read_time", "program_time", "dies"];
        assert_eq!(nearest("read_tme", known), Some("read_time"));
        assert_eq!(nearest("Read_Time", known), Some("read_time"));
        assert_eq!(nearest("die", known), Some("dies"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest("x", []), None);
    }

    #[test]
    fn no_type_of_this_program_is_left() {
        let cases = [
            (
                "a.b",
                "invalid type: string \"x\", expected u32",
                "a.b: expected a whole number, 0 or more, found the text \"x\"",
            ),
            (
                "a",
                "invalid type: integer `3`, expected struct Parameter",
                "a: expected a value and its source: { value = ..., source = \"...\" }, found 3",
            ),
            (
                "a.b",
                "missing field `source`",
                "a.b: its source is missing: write { value = ..., source = \"...\" }",
            ),
            (".", "missing field `flash`", "the section [flash] is missing"),
            (
                "flash",
                "missing field `dies`",
                "flash.dies: it is missing, and a drive of this kind needs it",
            ),
            (
                "flash.des",
                "unknown field `des`, expected `dies` or `planes`",
                "flash.des: there is no such parameter: did you mean flash.dies?",
            ),
            (
                "colour",
                "unknown field `colour`, expected `dies` or `planes`",
                "colour: there is no such section: use dies, planes",
            ),
            (
                "p",
                "unknown variant `gredy`, expected one of `greedy`, `fifo`",
                "p: there is no \"gredy\": did you mean greedy?",
            ),
        ];
        for (place, message, expected) in cases {
            assert_eq!(plain(place, message), expected);
        }
    }
}
