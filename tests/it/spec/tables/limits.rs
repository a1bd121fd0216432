//! The table of ceilings.

use manifest_bundle::error::Error;
use manifest_bundle::limits::Ceiling;

use super::same;
use crate::spec::markdown::Table;

/// The table of ceilings is the code's: all of them, in its order, with its numbers and words.
pub(super) fn ceilings(table: &Table) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    if table.rows.len() != Ceiling::ALL.len() {
        faults.push((
            table.line,
            format!("there are {} ceilings in the code", Ceiling::ALL.len()),
        ));
    }
    for (row, ceiling) in table.rows.iter().zip(Ceiling::ALL) {
        let name = ceiling.name();
        let flag = if ceiling.can_be_raised() {
            format!("`--max-{name}`")
        } else {
            String::new()
        };
        let checks = [
            same("the name", &*format!("`{name}`"), &row.cells[0]),
            number(&row.cells[1]).and_then(|n| same("the default", ceiling.default_value(), n)),
            same("the flag", &*flag, &row.cells[2]),
            same("what it bounds", ceiling.about(), &row.cells[3]),
            (!row.cells[4].is_empty())
                .then_some(())
                .ok_or("there is no reason".into()),
            refusal(*ceiling),
        ];
        let failed = checks.into_iter().filter_map(Result::err);
        faults.extend(failed.map(|why| (row.line, why)));
    }
    faults
}

/// What the page says of a refusal: it names the ceiling, its value and the flag.
pub(super) fn refusal(ceiling: Ceiling) -> Result<(), String> {
    let value = ceiling.default_value();
    let error = Error::limit(ceiling, value, value + 1);
    let hint = error.detail().hint.clone().unwrap_or_default();
    let flag = hint.contains(&format!("--max-{} ", ceiling.name()));
    same(
        "whether the hint names the flag",
        flag,
        ceiling.can_be_raised(),
    )?;
    let message = error.message();
    if message.contains(ceiling.name()) && message.contains(&value.to_string()) {
        Ok(())
    } else {
        Err(format!(
            "the refusal {message:?} does not say which ceiling it is"
        ))
    }
}

/// Reads `1,024 MiB`.
fn number(cell: &str) -> Result<u64, String> {
    let (digits, unit) = match cell.split_once(' ') {
        None => (cell, 1),
        Some((digits, "KiB")) => (digits, 1024),
        Some((digits, "MiB")) => (digits, 1024 * 1024),
        Some((_, unit)) => return Err(format!("`{unit}` is no unit")),
    };
    let number: u64 = digits
        .replace(',', "")
        .parse()
        .map_err(|_| format!("{cell} is no number"))?;
    Ok(number * unit)
}
