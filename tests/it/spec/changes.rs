//! Changes: two states of an object, or of a schema, between `---`, and the rules that find something in them.

use std::collections::BTreeSet;

use manifest_bundle::bundle::Files;
use manifest_bundle::diff::{Diff, RULES, Side, diff};
use manifest_bundle::limits::Limits;

use super::markdown::{Block, Table};
use super::tables::same;

/// Checks one example: `fine`, `breaks=RULE` for a change that does, or `may-break=RULE`; `removed` says that there is no new state.
pub(super) fn run(block: &Block) -> Result<(), String> {
    let text = if block.has("schema") {
        schemas(&block.text)
    } else {
        block.text.clone()
    };
    let (old, new) = match text.split_once("\n---\n") {
        Some((old, new)) => (format!("{old}\n"), new.to_owned()),
        None if block.has("removed") => (text, String::new()),
        None => return Err("write the old state, `---`, and the new one".into()),
    };
    let found = compare(&old, &new);
    let rules = |certain| -> BTreeSet<&str> {
        let all = found.breaking().filter(|one| one.certain == certain);
        all.map(|one| one.rule).collect()
    };
    let wanted = |key| block.value(key).into_iter().collect::<BTreeSet<&str>>();
    if block.has("fine") == (block.value("breaks").is_some() || block.value("may-break").is_some())
    {
        return Err("say one of `fine`, `breaks=RULE`, `may-break=RULE`".into());
    }
    same("what breaks", rules(true), wanted("breaks"))?;
    same("what may break", rules(false), wanted("may-break"))?;
    same("whether they differ", found.is_empty(), false)
}

/// Puts schemas where a definition has them.
fn schemas(text: &str) -> String {
    let whole = |schema: &str| {
        let lines: Vec<&str> = schema.lines().collect();
        let schema = format!("            {}\n", lines.join("\n            "));
        format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: backups.example.com}}\nspec:\n  versions:\n  \
             - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n          spec:\n{schema}"
        )
    };
    text.split("---\n")
        .map(whole)
        .collect::<Vec<_>>()
        .join("\n---\n")
}

/// Compares two files.
fn compare(old: &str, new: &str) -> Diff {
    let files = |text: &str| {
        Files::from([(
            "manifests/x.yaml".parse().unwrap(),
            text.as_bytes().to_vec().into(),
        )])
    };
    let (old, new) = (files(old), files(new));
    let side = |files| Side {
        files,
        annotations: None,
        places: None,
    };
    diff(&side(&old), &side(&new), &Limits::default()).unwrap()
}

/// Checks that a table has the rules, and nothing else, in their order.
pub(super) fn rules(table: &Table) -> Vec<(usize, String)> {
    let found: Vec<(String, &str)> = RULES
        .iter()
        .map(|rule| (format!("`{}`", rule.id), rule.about))
        .collect();
    let listed: Vec<(String, &str)> = table
        .rows
        .iter()
        .map(|row| (row.cells[0].clone(), row.cells[1].as_str()))
        .collect();
    let fault = same("the rules", found, listed).err();
    fault.map(|why| (table.line, why)).into_iter().collect()
}
