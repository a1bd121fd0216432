//! Tables over whole files: documents, values, places and faults.

mod faults;
mod limits;
mod splitting;
mod values;

use serde_json::Value as Json;

use super::{Fault, Node, documents};
use crate::limits::Limits;

/// What a document is to a test: its value, or its fault as `name line:column`.
#[derive(Debug, PartialEq)]
enum Seen {
    Value(Json),
    Fault(String),
}

fn seen(result: Result<Node, Fault>) -> Seen {
    match result {
        Ok(root) => Seen::Value(root.to_json()),
        Err(fault) => Seen::Fault(format!(
            "{} {}:{}",
            fault.kind.name(),
            fault.line,
            fault.column
        )),
    }
}

/// Reads all documents under the default limits.
fn all(text: &str) -> Vec<Seen> {
    let limits = Limits::default();
    documents(text.as_bytes(), &limits)
        .map(|document| seen(document.map(|document| document.root)))
        .collect()
}

/// Reads the only document.
fn one(text: &str) -> Result<Node, Fault> {
    let limits = Limits::default();
    let mut all = documents(text.as_bytes(), &limits);
    let first = all.next().expect("a document");
    assert_eq!(all.next(), None, "one document in {text:?}");
    first.map(|document| document.root)
}

fn value(json: Json) -> Seen {
    Seen::Value(json)
}

fn fault(text: &str) -> Seen {
    Seen::Fault(text.into())
}

/// Writes one text for each number from 0.
fn each(count: usize, text: fn(usize) -> String) -> String {
    (0..count).map(text).collect()
}
