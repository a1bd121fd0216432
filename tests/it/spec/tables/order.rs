//! The table of the order in which a cluster accepts objects.

use manifest_bundle::order::{Phase, kinds};

use super::{list, same};
use crate::spec::markdown::{Table, code};

/// The rows are all phases, and each has the kinds that the library puts there, in its order.
pub(super) fn phases(table: &Table) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    let mut check = |line, found: Result<(), String>| faults.extend(found.err().map(|e| (line, e)));
    check(
        table.line,
        same("the number of phases", Phase::ALL.len(), table.rows.len()),
    );
    for (row, phase) in table.rows.iter().zip(Phase::ALL) {
        let known: Vec<&str> = kinds()
            .filter(|(of, _)| *of == phase)
            .map(|(_, kind)| kind)
            .collect();
        let row_holds = code(&row.cells[0])
            .and_then(|name| same("the phase", phase.name(), name))
            .and_then(|()| words(&row.cells[1]))
            .and_then(|listed| same("the list of kinds", known, listed));
        check(row.line, row_holds);
    }
    faults
}

fn words(cell: &str) -> Result<Vec<&str>, String> {
    if cell.is_empty() {
        return Ok(Vec::new());
    }
    list(cell)
}
