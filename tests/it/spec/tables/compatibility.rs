//! Tables that say what was found elsewhere, and how that is known.

use crate::spec::markdown::code;
use crate::spec::schemas::All;

/// A row of the compatibility page says how it is known; a test that tries it names the program.
pub(super) fn evidence(cells: &[String], _: &All) -> Result<(), String> {
    if cells[0].is_empty() || cells[1].is_empty() {
        return Err("name the program and its version".into());
    }
    if !["yes", "with a setting", "no"].contains(&&*cells[2]) {
        return Err(format!("`{}` is no answer", cells[2]));
    }
    match cells[4].split_once(": ") {
        None if ["harness", "documentation"].contains(&&*cells[4]) => Ok(()),
        Some(("tried", test)) => {
            let text = std::fs::read_to_string(crate::spec::root().join(code(test)?));
            let text = text.map_err(|e| format!("{test}: {e}"))?.to_lowercase();
            let name = cells[0].to_lowercase();
            let mut words = name
                .split([' ', ',', '(', ')'])
                .filter(|word| word.len() > 3);
            if words.any(|word| text.contains(word)) {
                Ok(())
            } else {
                Err(format!("{test} does not try it"))
            }
        }
        _ => Err(format!("`{}` is no evidence", cells[4])),
    }
}

pub(super) fn reason(cells: &[String]) -> Result<(), String> {
    if cells.iter().any(String::is_empty) {
        return Err("a rule has a reason".into());
    }
    Ok(())
}
