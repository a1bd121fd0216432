//! Directories of channels (kubebuilder-declarative-pattern) into a repository and out of one (spec/channel.md).
//!
//! One repository holds one package. Everything is read and packed, and whatever is wrong refused, before anything is sent.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};

use crate::bundle::{Bundle, Files, MANIFESTS};
use crate::channel::{Channel, Entry};
use crate::content::{Content, Spool};
use crate::digest::Digest;
use crate::directory::{self, Channels, LeftOut};
use crate::error::{Error, Kind, Result};
use crate::kdp::{self, Listed, MANIFEST, PACKAGES};
use crate::metadata::Mediatype;
use crate::name::{ChannelName, PackageName};
use crate::objects;
use crate::path::BundlePath;
use crate::store::{self, Name, Store};
use crate::version::Version;

use super::channel;
use super::load::{self, Asked};
use super::open::Reach;
use super::pack::{self, PackRequest, Packed};
use super::resolve::fetch_channel;

/// How many bundles are loaded at once.
const CONCURRENCY: usize = 4;

/// What a directory of channels becomes.
#[derive(Debug)]
pub struct Import {
    /// The package.
    pub package: PackageName,
    /// Its versions, packed, the oldest first.
    pub bundles: Vec<Packed>,
    /// Its channels.
    pub channels: Vec<Imported>,
    /// What is in the directory and is neither a channel file nor a version of the package.
    pub left_out: Vec<LeftOut>,
}

/// A channel of a directory.
#[derive(Debug)]
pub struct Imported {
    /// Its name.
    pub name: ChannelName,
    /// Its bundles.
    pub entries: Vec<Entry>,
    /// The channel file.
    file: String,
}

impl Imported {
    /// Lets a channel be what the file says; tells whether anything changed, and which bundles left it.
    ///
    /// # Errors
    ///
    /// As [`Channel::add`].
    pub fn put_into(&self, channel: &mut Channel) -> Result<(bool, Vec<Entry>)> {
        let is_listed = |entry: &Entry| {
            let digest = entry.descriptor.digest;
            self.entries
                .iter()
                .any(|own| own.descriptor.digest == digest)
        };
        let gone = channel.remove(|entry| !is_listed(entry));
        let mut is_changed = !gone.is_empty();
        for entry in &self.entries {
            is_changed |= channel.add(entry.clone())?;
        }
        is_changed |= channel.annotate(kdp::FILE, Some(self.file.clone()));
        Ok((is_changed, gone))
    }
}

/// Reads a directory of channels and packs every version of its package.
///
/// `request` says how, and in its identity what holds for all versions; its package chooses one where there are several.
///
/// # Errors
///
/// [`Kind::Usage`] where the package has to be chosen, [`Kind::Invalid`] for a channel that lists what is not
/// there; what [`directory::read_channels`], [`kdp::parse`] and [`pack::pack_source`] refuse.
pub fn read(path: &Path, request: &PackRequest, spool: &mut Spool) -> Result<Import> {
    if request.identity.version.is_some() {
        return Err(
            Error::usage("a directory of channels has many versions, and one was given")
                .hint("the names of the directories below `packages/NAME` are the versions"),
        );
    }
    let limits = &request.image.limits;
    let mut found = directory::read_channels(path, limits, spool)?;
    let package = choose(&found, request.identity.package.as_ref(), path)?;
    let mut lists = Vec::new();
    for (name, bytes) in &found.files {
        let at = path.join(name.as_str());
        let in_file = |error: Error| {
            match error.detail().line {
                Some(line) => error.at(format!("{}:{line}", at.display())),
                None => error.at(at.display()),
            }
            .file(at.display())
        };
        let listed = kdp::parse(bytes, limits).map_err(in_file)?;
        kdp::expect_channel(name).map_err(in_file)?;
        expect_listed(&listed, package.as_ref(), &found).map_err(in_file)?;
        lists.push((
            name.clone(),
            String::from_utf8_lossy(bytes).into_owned(),
            listed,
        ));
    }
    let Some(package) = package else {
        let path = path.join(PACKAGES);
        return Err(
            Error::invalid("the directory has no version of any package")
                .file(path.display())
                .hint("a version is the directory `packages/NAME/VERSION`"),
        );
    };
    let mut versions = Vec::new();
    for (name, version, place) in std::mem::take(&mut found.versions) {
        if name == package {
            versions.push((version, place));
        } else {
            found.left_out.push(LeftOut {
                path: format!("{PACKAGES}/{name}/{version}/"),
                rule: "is another package".to_owned(),
            });
        }
    }
    versions.sort();
    let mut bundles = Vec::new();
    let mut entries: BTreeMap<Version, Entry> = BTreeMap::new();
    for (version, place) in versions {
        let packed = pack_version(&place, &package, &version, request, spool)?;
        let entry = Entry::of(&packed.image.manifest, &packed.bundle.metadata);
        entries.insert(version, entry);
        bundles.push(packed);
    }
    let mut channels = Vec::new();
    for (name, file, listed) in lists {
        let own = kdp::versions_of(&listed, &package);
        if own.is_empty() && !listed.is_empty() {
            found.left_out.push(LeftOut {
                path: name.to_string(),
                rule: "lists other packages".to_owned(),
            });
            continue;
        }
        let own = own.iter().filter_map(|one| entries.get(&one.version));
        channels.push(Imported {
            name,
            entries: own.cloned().collect(),
            file,
        });
    }
    Ok(Import {
        package,
        bundles,
        channels,
        left_out: found.left_out,
    })
}

/// Returns the package that is imported; none where there is none.
fn choose(
    found: &Channels,
    asked: Option<&PackageName>,
    path: &Path,
) -> Result<Option<PackageName>> {
    let there: BTreeSet<&PackageName> = found.versions.iter().map(|(name, ..)| name).collect();
    let names = || {
        let names: Vec<&str> = there.iter().map(|name| name.as_str()).collect();
        names.join(", ")
    };
    match asked {
        Some(asked) if there.contains(asked) => Ok(Some(asked.clone())),
        Some(asked) => Err(
            Error::not_found(format!("the directory has no package `{asked}`"))
                .file(path.join(PACKAGES).display())
                .expected(asked)
                .found(names()),
        ),
        None if there.len() > 1 => Err(Error::usage(
            "the directory has several packages, and a repository holds one",
        )
        .at(path.display())
        .file(path.join(PACKAGES).display())
        .found(names())
        .hint("import each into a repository of its own, with `--package NAME`")),
        None => Ok(there.first().map(|name| (*name).clone())),
    }
}

/// Refuses a channel that lists a package or a version that is not there.
fn expect_listed(listed: &[Listed], package: Option<&PackageName>, found: &Channels) -> Result<()> {
    let has = |name: &PackageName, version: &Version| {
        let mut all = found.versions.iter();
        all.any(|(there, other, _)| there == name && other == version)
    };
    // Where there is no package at all, every line is about something that is not there.
    let own = match package {
        Some(package) => kdp::versions_of(listed, package),
        None => listed.iter().collect(),
    };
    let named = listed.iter().filter(|one| one.package.is_some());
    for one in own.into_iter().chain(named) {
        let name = one.package.as_ref().or(package);
        if name.is_some_and(|name| has(name, &one.version)) {
            continue;
        }
        let place = name.map_or("NAME", PackageName::as_str);
        let version = &one.version;
        return Err(Error::invalid(format!(
            "the channel lists version {version}, and there is no `{PACKAGES}/{place}/{version}`"
        ))
        .line(one.line)
        .hint("add the version, or take it off the list"));
    }
    Ok(())
}

fn pack_version(
    place: &Path,
    package: &PackageName,
    version: &Version,
    request: &PackRequest,
    spool: &mut Spool,
) -> Result<Packed> {
    let source = directory::read(place, &request.read, &request.image.limits, spool)?;
    if source.declared {
        return Err(Error::invalid(
            "a version in a directory of channels has its manifests side by side, and this is the directory of a bundle",
        )
        .at(place.display())
        .file(place.display())
        .hint("`bundle push` takes it as it is"));
    }
    let mut request = request.clone();
    request.identity.package = Some(package.clone());
    request.identity.version = Some(version.clone());
    // So does KDP: a version that has a kustomization is built with it.
    let is_kustomization = |path: &BundlePath| {
        path.strip_prefix(MANIFESTS)
            .is_some_and(objects::is_kustomization)
    };
    if request.identity.mediatype.is_none() && source.files.keys().any(is_kustomization) {
        request.identity.mediatype = Some(Mediatype::Kustomize);
    }
    pack::pack_source(source, &request, spool)
}

/// A directory of channels that was made of a repository.
#[derive(Debug)]
pub struct Export {
    /// Its files.
    pub files: Files,
    /// The channels that it has.
    pub channels: Vec<ChannelName>,
    /// The versions that it has.
    pub versions: Vec<Exported>,
}

/// A version of a directory that was made of a repository.
#[derive(Debug)]
pub struct Exported {
    /// The package.
    pub package: PackageName,
    /// The version.
    pub version: Version,
    /// The digest of the bundle.
    pub digest: Digest,
    /// Whether `manifest.yaml` is its only file, which is what KDP reads over HTTP and from git.
    pub is_single: bool,
    /// Whether the bundle says what no such directory can: its operator, or a minimum version.
    pub says_more: bool,
}

/// Makes a directory of channels of a repository: of all channels and all bundles with a version's tag, or of some channels
/// and the bundles in them.
///
/// The files are those of the bundles, byte for byte; with `join` the files of each version become one, `manifest.yaml`.
///
/// # Errors
///
/// [`Kind::NotFound`] when there is nothing, [`Kind::Conflict`] for two bundles of one version,
/// [`Kind::Invalid`] for what no such directory can hold, [`Kind::Refused`] for a bundle that is not what the channel says.
pub async fn export(
    store: &dyn Store,
    only: &[ChannelName],
    join: bool,
    reach: &Reach,
) -> Result<Export> {
    let names = if only.is_empty() {
        channel::names(store).await?
    } else {
        only.to_vec()
    };
    let mut export = Export {
        files: Files::new(),
        channels: Vec::new(),
        versions: Vec::new(),
    };
    let mut wanted: BTreeMap<(PackageName, Version), Digest> = BTreeMap::new();
    for name in names {
        let (channel, _) = fetch_channel(store, &name, reach).await?;
        let file = kdp::file_of(&channel, &reach.limits).map_err(|error| {
            let version = channel
                .entries()
                .iter()
                .map(|entry| &entry.facts.version)
                .find(|version| kdp::expect_version(version).is_err());
            let place = store.place();
            error.hint(match version {
                Some(version) => format!(
                    "`bundle channel remove {place} {name} {version}` takes it out of the channel; `--channel NAME` exports other channels, with their bundles"
                ),
                None => "`--channel NAME` exports the channels that it names, with their bundles, and nothing else".to_owned(),
            })
            .at(place)
        })?;
        export
            .files
            .insert(path(name.as_str())?, file.into_bytes().into());
        for entry in channel.entries() {
            let (facts, digest) = (&entry.facts, entry.descriptor.digest);
            want(&mut wanted, &facts.package, &facts.version, digest)?;
        }
        export.channels.push(name);
    }
    if only.is_empty() {
        for member in channel::bundles(store, reach).await? {
            let (facts, digest) = (&member.entry.facts, member.entry.descriptor.digest);
            want(&mut wanted, &facts.package, &facts.version, digest)?;
        }
    }
    if wanted.is_empty() && export.channels.is_empty() {
        return Err(
            Error::not_found("there is no channel and no bundle to export").at(store.place()),
        );
    }
    let loaded: Vec<(Bundle, Digest)> = stream::iter(wanted)
        .map(|((package, version), digest)| async move {
            let bundle = load(store, digest, reach).await?;
            let found = &bundle.metadata;
            if found.package != package || found.version != version {
                return Err(
                    Error::new(Kind::Refused, "the bundle is not what the channel says")
                        .at(format!("{}@{digest}", store.place()))
                        .expected(format!("{package} {version}"))
                        .found(format!("{} {}", found.package, found.version)),
                );
            }
            Ok((bundle, digest))
        })
        .buffered(CONCURRENCY)
        .try_collect()
        .await?;
    for (bundle, digest) in loaded {
        let metadata = &bundle.metadata;
        kdp::expect_version(&metadata.version).map_err(|error| {
            let hint = match export.channels.first() {
                Some(name) => format!(
                    "`--channel {name}` exports that channel with its bundles, and leaves out what it does not list"
                ),
                None => "put the versions that it can have into a channel, and export that with `--channel NAME`".to_owned(),
            };
            error.at(store.place()).hint(hint)
        })?;
        let files = files_of(&bundle, join)
            .map_err(|error| error.at(format!("{}@{digest}", store.place())))?;
        export.versions.push(Exported {
            package: metadata.package.clone(),
            version: metadata.version.clone(),
            digest,
            is_single: files.len() == 1 && files.contains_key(MANIFEST),
            says_more: metadata.operator_id.is_some() || metadata.min_kubernetes_version.is_some(),
        });
        for (name, content) in files {
            let below = format!(
                "{PACKAGES}/{}/{}/{name}",
                metadata.package, metadata.version
            );
            export.files.insert(path(&below)?, content);
        }
    }
    Ok(export)
}

/// Notes a bundle that is wanted; two of one version would be in one place.
fn want(
    wanted: &mut BTreeMap<(PackageName, Version), Digest>,
    package: &PackageName,
    version: &Version,
    digest: Digest,
) -> Result<()> {
    match wanted.insert((package.clone(), version.clone()), digest) {
        Some(other) if other != digest => Err(Error::conflict(format!(
            "version {version} of `{package}` is two bundles: that of its tag and that of a channel, or those of two channels"
        ))
        .expected(other)
        .found(digest)
        .hint("`bundle channel show` says which channel has which; `--channel NAME` exports one alone")),
        _ => Ok(()),
    }
}

async fn load(store: &dyn Store, digest: Digest, reach: &Reach) -> Result<Bundle> {
    let manifest = store::fetch_manifest(store, &Name::Digest(digest), &reach.limits).await?;
    let loaded = load::load(store, manifest, &Asked::default(), reach).await?;
    Ok(loaded.unpacked.bundle)
}

/// Returns the files of a version by their names in its directory.
fn files_of(bundle: &Bundle, join: bool) -> Result<BTreeMap<String, Content>> {
    let files = bundle.manifests().filter_map(|(path, content)| {
        Some((path.strip_prefix(MANIFESTS)?.to_owned(), content.clone()))
    });
    let files: BTreeMap<String, Content> = files.collect();
    if !join || (files.len() == 1 && files.contains_key(MANIFEST)) {
        return Ok(files);
    }
    let version = &bundle.metadata.version;
    if bundle.metadata.mediatype == Mediatype::Kustomize {
        return Err(Error::invalid(format!(
            "version {version} is for kustomize, and its files cannot be joined"
        )));
    }
    let mut all = Vec::new();
    for (name, content) in &files {
        let bytes = content
            .to_bytes()
            .map_err(|error| Error::io("cannot read", Path::new(name), error))?;
        if !all.is_empty() {
            all.extend_from_slice(b"---\n");
        }
        all.extend_from_slice(&bytes);
        if !all.ends_with(b"\n") {
            all.push(b'\n');
        }
    }
    Ok(BTreeMap::from([(MANIFEST.to_owned(), all.into())]))
}

fn path(text: &str) -> Result<BundlePath> {
    BundlePath::admit(text.as_bytes())
}
