//! Names and sentences of others as text that nothing obeys.

/// The text without what a terminal or a page would obey, or nobody would see: control characters,
/// ends of lines among them, and marks that change the direction of text, are U+FFFD.
pub(crate) fn visible(text: &str) -> String {
    text.replace(is_obeyed, "\u{fffd}")
}

fn is_obeyed(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn what_a_terminal_obeys_is_visible() {
        assert_eq!(visible("sd\u{1b}[31ma\n\u{9b}2J\u{202e}\0"), "sd�[31ma��2J��");
        assert_eq!(visible("Übung 1, \"8,16\""), "Übung 1, \"8,16\"");
    }
}
