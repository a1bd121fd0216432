//! The files of whatever a call names with their places, for commands that say where something stands: a directory as it is,
//! everything else unpacked.

use std::path::PathBuf;

use manifest_bundle::bundle::Files;
use manifest_bundle::content::Spool;
use manifest_bundle::directory::{self, Origins, Source};
use manifest_bundle::escape::shown;
use manifest_bundle::metadata::Metadata;
use manifest_bundle::olm;
use manifest_bundle::ops::load::{self, Asked};
use manifest_bundle::ops::open::{self, Place, Reach};
use manifest_bundle::reference::Location;
use manifest_bundle::{Error, Result};
use serde_json::Value;

use super::record::Record;
use super::source::{self, Opened, PackArgs, ReadArgs, Stream};
use crate::settings::Settings;

/// The files of a source.
pub(super) struct SourceFiles {
    pub(super) files: Files,
    /// Where they stand, if they are not packed yet.
    pub(super) origins: Option<Origins>,
    /// The directory, if it is one.
    pub(super) directory: Option<PathBuf>,
    /// Whether it has the layout of a bundle.
    pub(super) declared: bool,
    /// The bundle, if it is one that was packed.
    pub(super) record: Option<Record>,
    /// What the files say of themselves, where they are not packed.
    metadata: Option<Metadata>,
}

impl SourceFiles {
    /// Returns the JSON form of what is known of the bundle.
    pub(super) fn record(&self) -> Value {
        self.record
            .as_ref()
            .map_or_else(|| Record::unpacked(self.metadata.as_ref()), Record::value)
    }

    /// Returns where a file of the bundle can be looked at: in the source, or the path in the bundle.
    pub(super) fn place_of(&self, file: &str) -> String {
        let origin = self.origins.as_ref().and_then(|origins| origins.of(file));
        origin.map_or_else(
            || file.to_owned(),
            |path| path.to_string_lossy().into_owned(),
        )
    }
}

/// The flags of commands that read a source in this way.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct SourceArgs {
    #[command(flatten)]
    pub(super) read: ReadArgs,
    /// Pass over documents that cannot be read, and say which
    #[arg(long, help_heading = "Packing")]
    pub(super) allow_invalid: bool,
}

/// Reads the files of a source; a directory need not be a bundle.
pub(super) async fn read(
    location: &Location,
    args: &SourceArgs,
    reach: &Reach,
    settings: &Settings,
) -> Result<SourceFiles> {
    let pack = &PackArgs {
        read: args.read.clone(),
        ..PackArgs::default()
    };
    let opened = match location {
        Location::Stream => match source::read_stream(settings)? {
            Stream::Objects(content) => {
                return Ok(of_source(source::stream_source(content)?, None, settings));
            }
            archive @ Stream::Archive(_) => source::open_read(archive, pack, reach, settings)?,
        },
        other => {
            if let Place::Directory(path) = open::open(other, reach).await? {
                let mut spool = Spool::new(&settings.spool_directory);
                let options = args.read.options();
                let source = directory::read(&path, &options, &settings.limits, &mut spool)?;
                let directory = path.is_dir().then_some(path);
                return Ok(of_source(source, directory, settings));
            }
            source::open(other, pack, reach, settings).await?
        }
    };
    of_store(&opened, reach, settings).await
}

fn of_source(source: Source, directory: Option<PathBuf>, settings: &Settings) -> SourceFiles {
    for one in &source.left_out {
        let (path, rule) = (shown(&one.path), shown(&one.rule));
        settings.talk.say(format!("left out `{path}`: {rule}"));
    }
    // What is wrong with it is for others to say.
    let metadata = olm::metadata_of(&source.files, &settings.limits);
    SourceFiles {
        metadata: metadata.ok().flatten().and_then(std::result::Result::ok),
        files: source.files,
        origins: Some(source.origins),
        directory,
        declared: source.declared,
        record: None,
    }
}

async fn of_store(opened: &Opened, reach: &Reach, settings: &Settings) -> Result<SourceFiles> {
    let manifest = opened.manifest(reach).await?;
    let store = opened.store.as_ref();
    let loaded = load::verify(store, manifest, &Asked::default(), reach).await?;
    let digest = loaded.image.manifest.descriptor.digest;
    let mut record = Record::of_store(store, digest, opened.tag.as_ref());
    record.size = Some(loaded.image.size());
    record.leave_out(&loaded.unpacked.left_out, settings);
    record.metadata = Some(loaded.unpacked.bundle.metadata);
    Ok(SourceFiles {
        files: loaded.unpacked.bundle.files,
        origins: None,
        directory: None,
        declared: false,
        record: Some(record),
        metadata: None,
    })
}

/// Refuses a source of which a part cannot be read, because an answer without it would be wrong; with `--allow-invalid`
/// that is said only.
pub(super) fn unread(
    files: &SourceFiles,
    unread: &[manifest_bundle::images::Unread],
    allow_invalid: bool,
    settings: &Settings,
) -> Result<()> {
    if allow_invalid {
        for one in unread {
            let place = shown(&files.place_of(one.file.as_str()));
            let text = format!("{place}:{}: passed over: {}", one.line, one.why);
            settings.talk.warn(text);
        }
        return Ok(());
    }
    let Some(first) = unread.first() else {
        return Ok(());
    };
    let place = files.place_of(first.file.as_str());
    let more = match unread.len().saturating_sub(1) {
        0 => String::new(),
        more => format!(" (and {})", crate::report::counted(more, "more document")),
    };
    let at = match first.line {
        0 => shown(&place),
        line => format!("{}:{line}", shown(&place)),
    };
    Err(Error::invalid(format!(
        "{at}: no images can be looked for: {}{more}",
        first.why
    ))
    .file(place)
    .line(first.line)
    .hint(
        "`bundle validate` says all that is wrong; --allow-invalid passes over what cannot be read",
    ))
}
