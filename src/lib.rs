//! Kubernetes manifests as versioned, verifiable bundles in any OCI registry.
//!
//! ```text
//! Directory  ⇄  Bundle  ⇄  Image  ⇄  Store            Store → Store
//!      read/write    pack/unpack   save/load              copy
//! ```
//!
//! | noun | is | answers |
//! |---|---|---|
//! | Directory | files on disk | what did the author write? |
//! | Bundle | metadata, and files by path whose contents are handles | what does it mean? |
//! | Image | manifest, config and layers as blobs with descriptors | what travels? |
//! | Store | holds blobs by digest and names them by tag | where is it? |
//!
//! Push, pull and copy are one function between two stores.
//!
//! # Floors
//!
//! The modules below stand on floors. A module uses lower floors and its own, never a higher one; `tests/it/floors.rs`
//! reads the source and proves it. Only floor 2 touches disk and network (`content` holds open files that it is given or made).
//! The library prints nothing and reads no environment, home directory or clock: settings come in as values. The binary
//! is floor 4; it lives in `src/bin/bundle` and uses the public API only.
//!
//! # In an operator
//!
//! A controller asks for the newest bundle that it can run, applies its objects, keeps the digest and asks again:
//!
//! ```
//! use manifest_bundle::credential::{Credential, Credentials, Found, Secret};
//! use manifest_bundle::limits::Limits;
//! use manifest_bundle::ops::newest::{Newest, newest};
//! use manifest_bundle::ops::open::Reach;
//! use manifest_bundle::resolution::Question;
//! use manifest_bundle::store::Store;
//! use manifest_bundle::store::registry::{Access, AccessSettings};
//!
//! /// How registries are reached; the callback is asked whenever one wants to know who is calling.
//! fn reach() -> manifest_bundle::Result<Reach> {
//!     let credentials = Credentials::new(|repository| {
//!         Box::pin(async move {
//!             let is_ours = repository.registry().host() == "registry.example.com";
//!             Ok(is_ours.then(|| Found {
//!                 credential: Credential::Basic {
//!                     username: "operator".into(),
//!                     password: Secret::new("read from a Secret, each time anew"),
//!                 },
//!                 origin: "the operator's Secret".into(),
//!             }))
//!         })
//!     });
//!     Ok(Reach {
//!         access: Access::new(AccessSettings { credentials, ..AccessSettings::default() })?,
//!         limits: Limits::default(),
//!         spool_directory: std::env::temp_dir(),
//!         concurrency: 4,
//!     })
//! }
//!
//! /// One round of a controller: returns the digest to remember.
//! async fn round(
//!     store: &dyn Store,
//!     question: &Question,
//!     known: Option<manifest_bundle::digest::Digest>,
//! ) -> Result<Option<manifest_bundle::digest::Digest>, Box<dyn std::error::Error>> {
//!     let stable = "stable".parse()?;
//!     match newest(store, Some(&stable), question, known.as_ref(), &reach()?).await? {
//!         Newest::Unchanged(digest) => Ok(Some(digest)),
//!         Newest::Bundle { reference, digest, bundle, .. } => {
//!             println!("applying {reference}, version {}", bundle.metadata.version);
//!             for (path, content) in bundle.manifests() {
//!                 let yaml = content.to_bytes()?;
//!                 println!("{path}: {} bytes", yaml.len());
//!             }
//!             Ok(Some(digest))
//!         }
//!         Newest::None(passed_over) => {
//!             for one in passed_over {
//!                 println!("{}: {}", one.version, one.reason);
//!             }
//!             Ok(known)
//!         }
//!     }
//! }
//! # use manifest_bundle::channel::{Channel, Entry, head_tag, index_tag};
//! # use manifest_bundle::content::Spool;
//! # use manifest_bundle::ops::pack::{PackRequest, pack};
//! # use manifest_bundle::store::memory::Memory;
//! #
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let source = directory.path().join("etcd");
//! # std::fs::create_dir_all(&source)?;
//! # std::fs::write(source.join("a.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n")?;
//! # let mut request = PackRequest::default();
//! # request.identity.package = Some("etcd".parse()?);
//! # request.identity.version = Some("3.6.1".parse()?);
//! # request.identity.operator_id = Some("etcd-manager".parse()?);
//! # request.identity.min_operator_version = Some("1.4.0".parse()?);
//! # let packed = pack(&source, &request, &mut Spool::new(directory.path()))?;
//! # let store = Memory::of_image("memory", &packed.image, Some(&"3.6.1".parse()?))?;
//! # let mut channel = Channel::new("stable".parse()?, "etcd".parse()?);
//! # channel.add(Entry::of(&packed.image.manifest, &packed.bundle.metadata))?;
//! # let index = channel.write(&Limits::default())?;
//! # store.put_manifest(&index, Some(&index_tag(&channel.name)?));
//! # store.put_manifest(&packed.image.manifest, Some(&head_tag(&channel.name)?));
//!
//! // A repository of a registry: `Registry::open("registry.example.com/team/etcd".parse()?, &reach()?.access)?`.
//! let question = Question {
//!     operator_id: Some("etcd-manager".parse()?),
//!     operator_version: Some("1.4.0".parse()?),
//!     ..Question::default()
//! };
//! let applied = round(&store, &question, None).await?;
//! assert_eq!(applied, Some(packed.image.manifest.descriptor.digest));
//! assert_eq!(round(&store, &question, applied).await?, applied, "costs one look at a tag");
//! # let older = Question { operator_version: Some("1.3.9".parse()?), ..question };
//! # assert_eq!(round(&store, &older, None).await?, None);
//! # Ok(())
//! # }
//! ```
//!
//! # Words
//!
//! - *bundle*: one version of one package, with its metadata; *manifest* alone: an OCI manifest; *object*: a Kubernetes object in a file of a bundle.
//! - *validate*: is it well formed? *verify*: is it the one that was asked for? *fetch*: read a blob and check its size and digest.
//! - *pinned*: a place and a digest; *referrer*: a manifest whose subject is another one; *ceiling*: the largest of something that is accepted.

// Floor 0: words. Values with rules, no I/O.
pub mod check;
pub mod content;
pub mod credential;
pub mod digest;
pub mod error;
pub mod escape;
pub mod finding;
pub mod invalid;
pub mod json;
pub mod limits;
pub mod name;
pub mod oci;
pub mod path;
pub mod progress;
pub mod reference;
pub mod requirement;
pub mod similar;
pub mod tag;
pub mod time;
pub mod version;

// Floor 1: forms. Pure functions from value to value.
pub mod bundle;
pub mod channel;
pub mod crd;
pub mod diff;
mod expansion;
pub mod expectation;
pub mod gzip;
pub mod ignore;
pub mod image;
pub mod images;
pub mod kdp;
pub mod known_fields;
pub mod layer;
pub mod metadata;
pub mod objects;
pub mod olm;
pub mod order;
pub mod quantity;
pub mod removed_apis;
pub mod resolution;
pub mod schema;
pub mod scope;
pub mod sensitive;
pub mod tar;
pub mod tree;
pub mod validate;
pub mod yaml;
pub mod zstd;

// Floor 2: places. Disk and network, nowhere else.
pub mod directory;
pub mod docker_config;
pub mod store;

// Floor 3: verbs. What needs more than one place.
pub mod ops;

pub use error::{Error, Kind, Result};

/// The version of the specification that this library follows (spec/README.md).
pub const SPEC_VERSION: &str = "0.1";
