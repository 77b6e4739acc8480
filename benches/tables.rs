//! Tables that benchmarks make: printed, or with `--write FILE` put between the marks of a document.

use std::path::Path;

/// `bench` is the file that made it, as the marks name it.
pub fn give(bench: &str, table: &str) {
    let arguments: Vec<String> = std::env::args().collect();
    let Some(at) = arguments.iter().position(|word| word == "--write") else {
        print!("{table}");
        return;
    };
    // Cargo runs benchmarks in the folder of their crate.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let path = root.join(arguments.get(at + 1).expect("--write FILE"));
    let text = std::fs::read_to_string(&path).expect("the document is there");
    let begin = format!("<!-- made by benches/{bench} -->\n");
    let end = format!("<!-- end of what benches/{bench} made -->");
    let (before, rest) = text.split_once(&begin).expect("it has the mark");
    let (_, after) = rest.split_once(&end).expect("it has the other mark");
    std::fs::write(&path, format!("{before}{begin}{table}{end}{after}"))
        .expect("it can be written");
}
