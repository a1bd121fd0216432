//! The `bundle` command: parses the call, runs it, prints the answer.

fn main() {}
