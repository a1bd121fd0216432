//! Patterns, which Kubernetes reads with Go's regular expressions: of what both engines read alike, and of ASCII alone, so that
//! no value is called wrong by a difference between them.

use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

use super::Budget;

/// How much memory a compiled pattern may take, and what a byte of a value costs then: at worst each goes through all of it.
const SIZES: [(usize, u64); 4] = [(4 << 10, 1), (16 << 10, 4), (64 << 10, 16), (256 << 10, 64)];

/// The most memory for what a pattern remembers while it matches.
const CACHE_MAX: usize = 64 << 10;

/// A pattern, compiled when it is first used.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) text: Box<str>,
    compiled: OnceLock<Option<Compiled>>,
}

#[derive(Debug)]
struct Compiled {
    regex: Regex,
    /// What it costs to look at a byte.
    steps: u64,
}

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        Self {
            text: text.into(),
            compiled: OnceLock::new(),
        }
    }

    /// Tells whether a value may match: only what certainly does not is told.
    pub(super) fn may_match(&self, value: &str, budget: &mut Budget) -> bool {
        // Without Unicode tables the engine sees bytes, where Go sees characters.
        if !value.is_ascii() {
            return true;
        }
        let compiled = self.compiled.get().or_else(|| {
            budget.patterns = budget.patterns.checked_sub(1)?;
            budget.charge((self.text.len() as u64).saturating_mul(100));
            Some(self.compiled.get_or_init(|| compile(&self.text)))
        });
        match compiled {
            Some(Some(Compiled { regex, steps })) => {
                let work = steps.saturating_mul(value.len() as u64);
                !budget.charge(work) || regex.is_match(value.as_bytes())
            }
            _ => true,
        }
    }
}

/// Compiles a pattern; what it takes is known by the limit under which it can be compiled.
fn compile(pattern: &str) -> Option<Compiled> {
    let translated = translate(pattern)?;
    SIZES.into_iter().find_map(|(size, steps)| {
        let regex = RegexBuilder::new(&translated)
            .unicode(false)
            .size_limit(size)
            .dfa_size_limit(CACHE_MAX)
            .nest_limit(100)
            .build()
            .ok()?;
        Some(Compiled { regex, steps })
    })
}

/// Writes a pattern of Go so that it means the same here; none where that is not certain.
///
/// In a class, Go takes `[` for itself and knows no sets of sets.
fn translate(pattern: &str) -> Option<String> {
    if pattern.contains("{,") {
        return None;
    }
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(c) = rest.next() {
        match c {
            '\\' => {
                let next = rest.next()?;
                if matches!(next, 'Q' | 'E' | 'C' | '<' | '>') {
                    return None;
                }
                out.extend([c, next]);
            }
            '[' if !in_class => {
                in_class = true;
                out.push(c);
                if rest.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
                if rest.next_if_eq(&']').is_some() {
                    out.push_str("\\]");
                }
            }
            '[' if rest.peek() == Some(&':') => {
                // `[:alpha:]`
                out.push(c);
                loop {
                    let c = rest.next()?;
                    out.push(c);
                    if c == ']' {
                        break;
                    }
                }
            }
            '[' => out.push_str("\\["),
            ']' if in_class => {
                in_class = false;
                out.push(c);
            }
            '&' | '-' | '~' if in_class && rest.peek() == Some(&c) => return None,
            _ => out.push(c),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_gos_and_what_is_not_certain_matches() {
        for (pattern, value, expected) in [
            ("^[a-z]+$", "abc", true),
            ("^[a-z]+$", "aBc", false),
            ("b", "abc", true),
            (r"^\d{1,3}(\.\d+)?$", "10.5", true),
            (r"^\d{1,3}(\.\d+)?$", "1000", false),
            (r"^[[:alnum:]_-]+$", "a_1-", true),
            (r"^[[:alnum:]_-]+$", "a 1", false),
            (r"^[a[]+$", "a[", true),
            (r"^[a[]+$", "b", false),
            (r"^[]a]+$", "]a", true),
            (r"^[^]a]+$", "b]", false),
            ("^a$", "a\n", false),
            // Not told: bytes and characters, what the engine does not know, and what it knows otherwise.
            ("^[a-z]+$", "ä", true),
            (r"^\Qa.b\E$", "x", true),
            (r"^\pL+$", "1", true),
            ("^[a&&b]$", "x", true),
            ("^a{,2}$", "x", true),
            ("^(a$", "x", true),
            ("(?=a)", "x", true),
        ] {
            let mut budget = Budget::default();
            let found = Pattern::new(pattern).may_match(value, &mut budget);
            assert_eq!(found, expected, "{pattern} {value}");
        }
    }

    #[test]
    fn patterns_cost_no_more_than_they_may() {
        let mut budget = Budget::default();
        for pattern in [
            "((a{1,1000}){1,1000}){1,1000}",
            &"(".repeat(100_000),
            &"a?".repeat(100_000),
        ] {
            assert!(Pattern::new(pattern).may_match("b", &mut budget));
        }
        budget.patterns = 0;
        assert!(Pattern::new("^a$").may_match("b", &mut budget));
    }
}
