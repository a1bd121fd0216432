//! Who may do what: scopes.

/// What a request needs leave for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Scope {
    /// The path of the repository.
    pub(super) repository: String,
    /// Whether something is written.
    pub(super) writes: bool,
    /// A repository that a blob is mounted from.
    pub(super) from: Option<String>,
}

/// The leave that was given.
#[derive(Debug, Default)]
pub(super) struct Auth {}
