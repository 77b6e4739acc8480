//! Commands to a server: a line of JSON each, and a line in answer.

use crate::fault::Fault;
use serde::Deserialize;

/// Longest line; a fault takes some hundred bytes.
const LINE_BYTES_MAX: usize = 64 << 10;

/// What a command asks for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Wish {
    /// What happens.
    Status,
    /// A fault, whose times count from now.
    Fault {
        /// The fault.
        fault: Box<Fault>,
    },
    /// The end of a fault, or of all.
    Clear {
        /// Which one.
        #[serde(default)]
        id: Option<u64>,
    },
    /// The end of the session.
    End,
}

impl Wish {
    /// # Errors
    /// What is wrong with the line, in one sentence.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(line).map_err(|error| format!("this is no command: {error}"))
    }
}

/// Lines of one who commands.
#[derive(Debug, Default)]
pub struct Lines {
    input: Vec<u8>,
    output: Vec<u8>,
    is_over: bool,
}

impl Lines {
    /// Takes what came, and returns the commands that are complete.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<Result<Wish, String>> {
        self.input.extend_from_slice(bytes);
        let mut wishes = Vec::new();
        while let Some(end) = self.input.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.input.drain(..=end).collect();
            if !line.trim_ascii().is_empty() {
                wishes.push(Wish::parse(&line));
            }
        }
        self.is_over |= self.input.len() > LINE_BYTES_MAX;
        wishes
    }

    /// Answers a command.
    pub fn tell(&mut self, answer: &serde_json::Value) {
        // One who reads no answers gets no more of them.
        if self.output.len() > 16 * LINE_BYTES_MAX {
            self.is_over = true;
            return;
        }
        self.output.extend(answer.to_string().bytes());
        self.output.push(b'\n');
    }

    /// What is to be sent.
    pub fn output(&self) -> &[u8] {
        &self.output
    }

    /// So much of it is gone.
    pub fn sent(&mut self, bytes: usize) {
        self.output.drain(..bytes);
    }

    /// Whether the connection is to be closed.
    pub fn is_over(&self) -> bool {
        self.is_over
    }
}
