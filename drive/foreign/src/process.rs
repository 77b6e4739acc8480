//! The child process: started without a shell, ended with its owner.

use crate::ForeignError;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The program, found as a shell would.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// How long a child may take to end when it is told to.
const END_S_MAX: u64 = 2;
/// As much of the last line that a child wrote to its standard error is shown.
const LAST_WORDS_CHARS: usize = 200;

/// A running child. It is ended when this is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    listener: JoinHandle<()>,
    last_words: Arc<Mutex<String>>,
}

impl Process {
    /// Starts the child in a process group of its own, so that Ctrl-C reaches this program alone.
    ///
    /// # Errors
    /// [`ForeignError::Start`].
    pub fn start(command: &Command) -> Result<(Self, ChildStdin, ChildStdout), ForeignError> {
        let failed =
            |reason: String| ForeignError::Start { program: command.program.clone(), reason };
        let mut child = std::process::Command::new(&command.program)
            .args(&command.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let stdin = child.stdin.take().ok_or_else(|| failed("it has no standard input".into()))?;
        let stdout =
            child.stdout.take().ok_or_else(|| failed("it has no standard output".into()))?;
        let last_words = Arc::new(Mutex::new(String::new()));
        let stderr =
            child.stderr.take().ok_or_else(|| failed("it has no standard error".into()))?;
        let words = Arc::clone(&last_words);
        // What nobody reads would fill the pipe and stop the child.
        let listener = std::thread::spawn(move || {
            for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
                let line: String = String::from_utf8_lossy(&line)
                    .chars()
                    .filter(|c| !c.is_control())
                    .take(LAST_WORDS_CHARS)
                    .collect();
                if !line.trim().is_empty() {
                    *words.lock().unwrap_or_else(|error| error.into_inner()) = line;
                }
            }
        });
        Ok((Self { child, listener, last_words }, stdin, stdout))
    }

    /// Why nothing more comes from the child.
    pub fn ended(&mut self) -> ForeignError {
        let status = match self.wait() {
            Some(status) => status.to_string(),
            None => "it closed its output".into(),
        };
        // What it started may hold its standard error open for longer.
        within(Duration::from_millis(500), || self.listener.is_finished().then_some(()));
        let words = self.last_words.lock().unwrap_or_else(|error| error.into_inner()).clone();
        let last_words =
            if words.is_empty() { words } else { format!("; its last words: {words}") };
        ForeignError::Ended { status, last_words }
    }

    /// Waits until the child ends; `None` if it does not in time.
    pub fn wait(&mut self) -> Option<ExitStatus> {
        within(Duration::from_secs(END_S_MAX), || self.child.try_wait().ok().flatten())
    }

    /// Ends the child, and all that it started, unless it has ended.
    pub fn kill(&mut self) {
        // Once it was waited for, its number may be another's.
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        // With everything that it started: the children of a shell outlive it.
        if let Some(group) = Pid::from_raw(self.child.id().cast_signed()) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

fn within<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let until = Instant::now() + limit;
    loop {
        let seen = look();
        if seen.is_some() || Instant::now() >= until {
            return seen;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
