//! Sources: whatever a call names, opened, and packed in memory where it is a directory.

use std::io::{IsTerminal as _, Read as _};
use std::path::Path;
use std::sync::Arc;

use manifest_bundle::bundle::{Files, MANIFESTS};
use manifest_bundle::content::{Content, Spool};
use manifest_bundle::directory::{self, Origins, ReadOptions};
use manifest_bundle::escape::shown;
use manifest_bundle::image::{Format as ImageFormat, PackOptions};
use manifest_bundle::limits::Ceiling;
use manifest_bundle::oci::ManifestBlob;
use manifest_bundle::ops::open::{self, Place, Reach};
use manifest_bundle::ops::pack::{self, PackRequest, Packed};
use manifest_bundle::path::BundlePath;
use manifest_bundle::reference::{Entry, Location};
use manifest_bundle::store::{Name, Store};
use manifest_bundle::tag::Tag;
use manifest_bundle::{Error, Kind, Result};

use crate::args::IdentityArgs;
use crate::report::{self, counted};
use crate::settings::{self, Settings};

/// How a directory is read.
#[derive(Debug, Clone, Default, PartialEq, clap::Args)]
pub(super) struct ReadArgs {
    /// Carry files of sub-directories as `sub-file.yaml`
    #[arg(long, help_heading = "Packing")]
    pub(super) flatten: bool,
    /// Leave out what matches, in git's syntax; beside .bundleignore and the built-in rules
    #[arg(long, value_name = "PATTERN", help_heading = "Packing")]
    pub(super) exclude: Vec<String>,
    /// Carry what matches, whatever rule would leave it out
    #[arg(long, value_name = "PATTERN", help_heading = "Packing")]
    pub(super) include: Vec<String>,
    /// Apply no built-in rule for what is left out
    #[arg(long, help_heading = "Packing")]
    pub(super) no_default_ignores: bool,
    /// Follow links that stay inside the source
    #[arg(long, help_heading = "Packing")]
    pub(super) resolve_symlinks: bool,
    /// Follow links that lead into this directory as well
    #[arg(long, value_name = "DIR", help_heading = "Packing")]
    pub(super) symlink_root: Vec<std::path::PathBuf>,
}

impl ReadArgs {
    /// Returns how a directory is read.
    pub(super) fn options(&self) -> ReadOptions {
        ReadOptions {
            ignore: self.exclude.clone(),
            include: self.include.clone(),
            built_in_rules: !self.no_default_ignores,
            resolve_symlinks: self.resolve_symlinks,
            symlink_roots: self.symlink_root.clone(),
            flatten: self.flatten,
            collect_refused: false,
        }
    }
}

/// How a directory is packed; commands that only read take the defaults.
#[derive(Debug, Clone, Default, PartialEq, clap::Args)]
pub(super) struct PackArgs {
    #[command(flatten)]
    pub(super) identity: IdentityArgs,
    #[command(flatten)]
    pub(super) read: ReadArgs,
    /// Write OLM's keys (registry+v1) beside ours; what is missing comes from the ClusterServiceVersion, of which there is one
    #[arg(long, help_heading = "Packing")]
    pub(super) olm: bool,
    /// Pack objects with errors; errors in metadata and layout are never packed
    #[arg(long, help_heading = "Packing")]
    pub(super) allow_invalid: bool,
    /// Write this time into the image: RFC 3339, or `env` for SOURCE_DATE_EPOCH; the digest depends on it
    #[arg(long, value_name = "TIME", help_heading = "Packing")]
    pub(super) created: Option<String>,
    /// The format of the image
    #[arg(long, value_enum, default_value_t = FormatArg::Oci, value_name = "FORMAT", help_heading = "Packing")]
    pub(super) image_format: FormatArg,
}

/// The formats of images.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum FormatArg {
    /// OCI image manifest
    #[default]
    Oci,
    /// Docker manifest version 2 schema 2, which has no annotations
    Docker,
}

impl PackArgs {
    /// Returns what to pack, and how.
    pub(super) fn request(&self, settings: &Settings) -> Result<PackRequest> {
        self.identity.tell(&settings.talk);
        Ok(PackRequest {
            read: self.read.options(),
            identity: self.identity.identity()?,
            olm: self.olm,
            allow_invalid: self.allow_invalid,
            progress: settings.talk.steps(),
            image: PackOptions {
                format: match self.image_format {
                    FormatArg::Oci => ImageFormat::Oci,
                    FormatArg::Docker => ImageFormat::Docker,
                },
                created: self.created.as_deref().map(created).transpose()?,
                threads: settings.threads,
                limits: settings.limits.clone(),
            },
        })
    }

    /// Refuses flags that say how to pack, for a source that is packed already.
    pub(super) fn refuse(&self, location: &Location) -> Result<()> {
        if *self != Self::default() {
            return Err(Error::usage(format!(
                "`{location}` is packed already; flags for packing cannot change it"
            ))
            .hint("give them when it is packed from its directory"));
        }
        Ok(())
    }
}

/// Reads a time for the image.
fn created(text: &str) -> Result<String> {
    if text != "env" {
        return manifest_bundle::time::rfc3339_utc(text)
            .map_err(|invalid| invalid.of_kind(Kind::Usage));
    }
    let Some(seconds) = settings::source_date_epoch() else {
        return Err(Error::usage(
            "--created env needs SOURCE_DATE_EPOCH, which is not set",
        ));
    };
    manifest_bundle::time::of_epoch_seconds(&seconds)
        .map_err(|invalid| invalid.of_kind(Kind::Usage))
}

/// A source that can be read as a store.
#[derive(Debug)]
pub(super) struct Opened {
    /// Where it is.
    pub(super) store: Arc<dyn Store>,
    /// What is meant there.
    pub(super) name: Name,
    /// The tag by which it was asked for.
    pub(super) tag: Option<Tag>,
    /// What was packed, where the source is a directory.
    pub(super) packed: Option<Packed>,
}

impl Opened {
    /// Fetches the manifest that is meant: the one look at a tag (P4).
    pub(super) async fn manifest(&self, reach: &Reach) -> Result<ManifestBlob> {
        open::manifest(self.store.as_ref(), &self.name, &reach.limits).await
    }
}

/// Opens a source as a store; a directory is packed into memory.
pub(super) async fn open(
    location: &Location,
    args: &PackArgs,
    reach: &Reach,
    settings: &Settings,
) -> Result<Opened> {
    let place = match location {
        Location::Stream => return open_stream(args, reach, settings),
        other => open::open(other, reach).await?,
    };
    open_place(place, location, args, settings)
}

/// Opens a place as a store, of which `location` is the name.
pub(super) fn open_place(
    place: Place,
    location: &Location,
    args: &PackArgs,
    settings: &Settings,
) -> Result<Opened> {
    match place {
        Place::Directory(path) => packed_as_store(
            pack_directory(&path, args, settings)?,
            &path.to_string_lossy(),
        ),
        Place::Store(store, name) => {
            args.refuse(location)?;
            let tag = match (location, &name) {
                (Location::Registry(reference), _) => reference.tag.clone(),
                (_, Name::Tag(tag)) => Some(tag.clone()),
                (_, Name::Digest(_)) => None,
            };
            Ok(Opened {
                store,
                name,
                tag,
                packed: None,
            })
        }
    }
}

/// What comes on stdin.
pub(super) enum Stream {
    /// An archive.
    Archive(Content),
    /// Objects as one stream of YAML.
    Objects(Content),
}

/// Reads stdin whole and tells what it is.
pub(super) fn read_stream(settings: &Settings) -> Result<Stream> {
    let content = read_stdin(settings, Ceiling::Blob)?;
    Ok(if is_tar(&content)? {
        Stream::Archive(content)
    } else {
        Stream::Objects(content)
    })
}

/// Opens what comes on stdin.
fn open_stream(args: &PackArgs, reach: &Reach, settings: &Settings) -> Result<Opened> {
    open_read(read_stream(settings)?, args, reach, settings)
}

/// Opens what came on stdin; objects are packed.
pub(super) fn open_read(
    stream: Stream,
    args: &PackArgs,
    reach: &Reach,
    settings: &Settings,
) -> Result<Opened> {
    let content = match stream {
        Stream::Archive(content) => content,
        Stream::Objects(content) => {
            return packed_as_store(pack_stream(content, args, settings)?, "-");
        }
    };
    args.refuse(&Location::Stream)?;
    let place = open::open_content(&content, "oci-archive:-", &Entry::default(), &reach.limits)?;
    let Place::Store(store, name) = place else {
        return Err(Error::usage("`-` holds no archive"));
    };
    let tag = match &name {
        Name::Tag(tag) => Some(tag.clone()),
        Name::Digest(_) => None,
    };
    Ok(Opened {
        store,
        name,
        tag,
        packed: None,
    })
}

/// Packs a directory, or `-`, and says what the author should know.
pub(super) fn pack_location(
    location: &Location,
    args: &PackArgs,
    settings: &Settings,
) -> Result<Packed> {
    match location {
        Location::Stream => {
            let content = read_stdin(settings, Ceiling::File)?;
            if is_tar(&content)? {
                return Err(
                    Error::usage("stdin holds an archive, which is packed already")
                        .hint("`bundle copy - OUT` and `bundle push - REF` take it from there"),
                );
            }
            pack_stream(content, args, settings)
        }
        Location::Path(path) => pack_directory(path, args, settings),
        Location::Registry(reference) => Err(Error::usage(format!(
            "`{reference}` names a registry, and a directory is packed"
        ))
        .hint(format!("if you mean a directory, write `./{reference}`"))),
        other => Err(Error::usage(format!("`{other}` is packed already"))
            .hint("`bundle copy` and `bundle push` move it")),
    }
}

fn pack_directory(path: &Path, args: &PackArgs, settings: &Settings) -> Result<Packed> {
    let mut spool = Spool::new(&settings.spool_directory);
    let progress = settings.talk.work("packing");
    let packed = pack::pack(path, &args.request(settings)?, &mut spool)?;
    drop(progress);
    tell(&packed, settings);
    Ok(packed)
}

/// Packs objects that came as one stream, as the one file of a bundle.
fn pack_stream(content: Content, args: &PackArgs, settings: &Settings) -> Result<Packed> {
    let source = stream_source(content)?;
    let mut spool = Spool::new(&settings.spool_directory);
    let progress = settings.talk.work("packing");
    let packed = pack::pack_source(source, &args.request(settings)?, &mut spool)?;
    drop(progress);
    tell(&packed, settings);
    Ok(packed)
}

/// Makes a source of objects that came as one stream.
pub(super) fn stream_source(content: Content) -> Result<directory::Source> {
    let path: BundlePath = format!("{MANIFESTS}/manifests.yaml")
        .parse()
        .map_err(|invalid: manifest_bundle::invalid::Invalid| invalid.of_kind(Kind::Invalid))?;
    Ok(directory::Source {
        origins: Origins::of_file(path.clone(), Path::new("-")),
        files: Files::from([(path, content)]),
        declared: false,
        left_out: Vec::new(),
        renamed: Vec::new(),
        refused: Vec::new(),
    })
}

/// Says what packing did beside packing (P10, P11).
fn tell(packed: &Packed, settings: &Settings) {
    let talk = &settings.talk;
    for one in &packed.left_out {
        talk.say(format!(
            "left out `{}`: {}",
            shown(&one.path),
            shown(&one.rule)
        ));
    }
    for (from, to) in &packed.renamed {
        talk.say(format!("renamed `{from}` to `{to}`"));
    }
    if !packed.added.is_empty() {
        let count = counted(packed.added.len(), "key");
        // It may be said of a bundle that nobody writes.
        talk.say(format!(
            "packing adds {count} to {}: {}",
            manifest_bundle::metadata::FILE,
            some_of(&packed.added, talk.is_verbose())
        ));
    }
    for line in report::findings(&packed.findings) {
        talk.say(line);
    }
}

/// Lists as many names as a line has room for, or all of them.
fn some_of(names: &[String], all: bool) -> String {
    const ROOM: usize = 120;
    let mut line = String::new();
    for (at, name) in names.iter().enumerate() {
        if !all && at > 0 && line.len().saturating_add(name.len()) > ROOM {
            let more = names.len().saturating_sub(at);
            line = format!("{line} and {more} more (-v lists them)");
            break;
        }
        if at > 0 {
            line.push_str(", ");
        }
        line.push_str(name);
    }
    line
}

/// Makes a store in memory of what was packed.
fn packed_as_store(packed: Packed, place: &str) -> Result<Opened> {
    let memory = manifest_bundle::store::memory::Memory::of_image(place, &packed.image, None)?;
    let name = Name::Digest(packed.image.manifest.descriptor.digest);
    Ok(Opened {
        store: Arc::new(memory),
        name,
        tag: None,
        packed: Some(packed),
    })
}

/// Reads stdin to its end, at most as much as a ceiling allows.
fn read_stdin(settings: &Settings, ceiling: Ceiling) -> Result<Content> {
    let max = settings.limits[ceiling];
    if std::io::stdin().is_terminal() {
        let note = "reading from the terminal until Ctrl-D; an archive comes with `< FILE.tar`";
        settings.talk.say_now(note);
    }
    let fail = |error: std::io::Error| Error::new(Kind::Io, format!("cannot read stdin: {error}"));
    let mut spool = Spool::new(&settings.spool_directory);
    let content = spool
        .store(&mut std::io::stdin().lock().take(max.saturating_add(1)))
        .map_err(fail)?;
    if content.len() > max {
        return Err(Error::limit(ceiling, max, content.len()).at("stdin"));
    }
    if content.is_empty() {
        return Err(Error::invalid("standard input is empty")
            .hint("look at what the command before `|` says"));
    }
    Ok(content)
}

/// Tells whether content begins as a tar does.
fn is_tar(content: &Content) -> Result<bool> {
    let mut magic = [0; 5];
    let n = content
        .read_at(&mut magic, 257)
        .map_err(|error| Error::new(Kind::Io, format!("cannot read stdin: {error}")))?;
    Ok(n == magic.len() && &magic == b"ustar")
}
