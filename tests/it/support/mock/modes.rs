//! The lasting habits of a mock registry; each is one that a registry in use has.

/// A listener: its own port, so its own origin as far as credentials go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Registry,
    /// The token service of [`Auth::Bearer`].
    Token,
    /// Blob storage behind redirects and foreign upload locations; refuses any `Authorization`.
    Store,
    /// Nobody that a client has business with; asks everyone for a password.
    Stranger,
}

impl Origin {
    /// What each is called on a pretended internet ([`Modes::named`]), on port 443.
    pub(crate) const NAMES: [&str; 4] = [
        "registry.example",
        "auth.registry.example",
        "cdn.example",
        "evil.example",
    ];
    pub(crate) const ALL: [Self; 4] = [Self::Registry, Self::Token, Self::Store, Self::Stranger];
}

/// What the registry asks for; the user is `USER` with `PASSWORD`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Auth {
    #[default]
    Off,
    Basic,
    Bearer,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tls {
    #[default]
    Off,
    On,
    /// And the client must show `Certs::client`.
    ClientCertificate,
    /// Every listener asks for a certificate, and lets those in who show none.
    AsksForCertificate,
}

/// The default is an open, complete and modern registry over plain HTTP.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent habits")]
pub(crate) struct Modes {
    /// The listeners call themselves by [`Origin::NAMES`]; a client needs a proxy that knows the way.
    pub(crate) named: bool,
    pub(crate) tls: Tls,
    pub(crate) auth: Auth,
    /// Bearer: a token is good for this many requests.
    pub(crate) token_requests: Option<u32>,
    /// Bearer: a token for pulling is given to those without credentials.
    pub(crate) anonymous_pull: bool,
    /// Bearer: the refresh token that the token service takes instead of a password.
    pub(crate) identity_token: Option<String>,
    /// `/v2/` answers 200 although the repositories are closed.
    pub(crate) open_ping: bool,

    /// `Location` without scheme and host.
    pub(crate) relative_location: bool,
    /// `Location` with a state in its query that changes with each request and must come back as it is.
    pub(crate) location_state: bool,
    /// `Location` points to [`Origin::Store`].
    pub(crate) upload_elsewhere: bool,
    /// No request may carry more than this many bytes into a blob (413).
    pub(crate) chunk_limit: Option<usize>,
    /// Of each piece of a blob no more than this is kept.
    pub(crate) chunk_keeps: Option<usize>,
    pub(crate) no_mount: bool,

    /// HEAD is answered 405.
    pub(crate) no_head: bool,
    /// No answer has a `Docker-Content-Digest`.
    pub(crate) no_digest_header: bool,
    /// `Range` is ignored.
    pub(crate) no_ranges: bool,
    /// GET of a blob is sent to [`Origin::Store`], with a signature in the query.
    pub(crate) redirect_blobs: bool,

    /// A tag that exists is refused (400), also for the same manifest.
    pub(crate) immutable_tags: bool,
    pub(crate) refuse_artifact_type: bool,
    /// The only media types that a manifest and what it names may have.
    pub(crate) media_types: Option<&'static [&'static str]>,
    /// The number of parts that every repository name must have.
    pub(crate) name_parts: Option<usize>,
    /// There is no referrers API (404).
    pub(crate) no_referrers: bool,
    /// Tags on one page of the list.
    pub(crate) tag_page: Option<usize>,
}
