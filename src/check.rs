//! What one check of a verification found, for whoever reads the answer or the refusal.

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was looked at and is as expected.
    Passed,
    /// It was looked at and is not as expected.
    Failed,
    /// Nobody asked.
    NotAsked,
    /// It would have needed content that was not fetched.
    NotLooked,
}

impl Outcome {
    /// Returns the words that people and machines see.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::NotAsked => "not asked",
            Self::NotLooked => "not looked at",
        }
    }
}

/// One check and how it came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What was checked, such as `operator id`.
    pub name: &'static str,
    /// How it came out.
    pub outcome: Outcome,
    /// What was expected.
    pub expected: Option<String>,
    /// What the bundle says.
    pub found: Option<String>,
}

impl Check {
    /// Makes a check that nobody asked for.
    pub fn not_asked(name: &'static str, found: Option<String>) -> Self {
        Self {
            name,
            outcome: Outcome::NotAsked,
            expected: None,
            found,
        }
    }

    /// Makes a check with its outcome.
    pub fn of(
        name: &'static str,
        holds: bool,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        let outcome = if holds {
            Outcome::Passed
        } else {
            Outcome::Failed
        };
        Self {
            name,
            outcome,
            expected: Some(expected.into()),
            found: Some(found.into()),
        }
    }
}
