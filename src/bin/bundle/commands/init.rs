//! `bundle init`: the directory of a new bundle, or metadata for a directory of manifests.

use std::path::{Path, PathBuf};

use manifest_bundle::bundle::{Files, MANIFESTS};
use manifest_bundle::content::Content;
use manifest_bundle::directory::{self, WriteOptions};
use manifest_bundle::escape::shown;
use manifest_bundle::metadata::{self, Identity, key};
use manifest_bundle::oci::Annotations;
use manifest_bundle::path::BundlePath;
use manifest_bundle::{Error, Kind, Result};
use serde_json::json;

use crate::args::IdentityArgs;
use crate::output::Answer;
use crate::settings::Settings;

/// Begin a bundle: write metadata/annotations.yaml, and an example object where there are none
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bundle init etcd --package etcd --version 3.5.0 --operator-id etcd-manager --min-operator-version 1.4.0")]
pub(crate) struct Args {
    /// The directory; it may exist, with manifests/ in it
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    #[command(flatten)]
    identity: IdentityArgs,
}

pub(crate) fn run(args: &Args, settings: &Settings) -> Result<Answer> {
    args.identity.tell(&settings.talk);
    let identity = args.identity.identity()?;
    if std::fs::symlink_metadata(args.directory.join(metadata::FILE)).is_ok() {
        return Err(exists_already(&args.directory));
    }
    expect_identity(&identity)?;
    let completed =
        metadata::complete(None, &identity, None, &Annotations::new(), &settings.limits)?;
    let name = completed.metadata.package.as_str();
    let metadata_bytes = Content::from(completed.bytes);
    let mut written = vec![metadata::FILE.to_owned()];
    let example = format!("{MANIFESTS}/{name}.yaml");
    let object = Content::from(format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  example: \"replace this file with your manifests\"\n"
    ).into_bytes());
    let is_there = exists(&args.directory)?;
    if is_there && !is_unused(&args.directory)? {
        add(&args.directory, &metadata_bytes)?;
    } else if is_there {
        // Such as a fresh clone, in which people stand and run `init .`.
        make_directory(&args.directory.join(MANIFESTS))?;
        directory::write_file(
            &args.directory.join(&example),
            &object,
            &WriteOptions::default(),
        )?;
        add(&args.directory, &metadata_bytes)?;
        written.insert(0, example);
    } else {
        let mut files = Files::from([(metadata::path()?, metadata_bytes)]);
        let path: BundlePath = example
            .parse()
            .map_err(|invalid: manifest_bundle::invalid::Invalid| invalid.of_kind(Kind::Invalid))?;
        files.insert(path, object);
        let options = settings.stop.write_options(false, false);
        directory::write(&files, &args.directory, &options)?;
        written.insert(0, example);
    }
    let shown_directory = shown(&args.directory.to_string_lossy());
    for file in &written {
        settings.talk.say(format!("wrote {shown_directory}/{file}"));
    }
    settings.talk.say(format!(
        "next: bundle validate {shown_directory}, then bundle pack {shown_directory}"
    ));
    let value = json!({ "directory": args.directory.to_string_lossy(), "written": written });
    Ok(Answer::new(args.directory.to_string_lossy(), value))
}

/// Refuses a call that does not say what the bundle will be.
fn expect_identity(identity: &Identity) -> Result<()> {
    let said = |key: &str| identity.annotations.contains_key(key);
    let flags: Vec<&str> = [
        (
            "--package P",
            identity.package.is_some() || said(key::PACKAGE),
        ),
        (
            "--version V",
            identity.version.is_some() || said(key::VERSION),
        ),
    ]
    .into_iter()
    .filter_map(|(flag, is_there)| (!is_there).then_some(flag))
    .collect();
    if flags.is_empty() {
        return Ok(());
    }
    let flags = flags.join(" ");
    Err(Error::usage("a bundle has a package and a version").hint(format!("add {flags}")))
}

fn exists(path: &Path) -> Result<bool> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => Ok(true),
        Ok(_) => Err(Error::conflict(format!(
            "`{}` exists and is no directory",
            shown(&path.to_string_lossy())
        ))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::io("cannot look at", path, error)),
    }
}

/// Tells whether a directory holds nothing but what begins with a dot, such as `.git`.
fn is_unused(directory: &Path) -> Result<bool> {
    let cannot = |error| Error::io("cannot read", directory, error);
    for entry in std::fs::read_dir(directory).map_err(cannot)? {
        let name = entry.map_err(cannot)?.file_name();
        if !name.as_encoded_bytes().starts_with(b".") {
            return Ok(false);
        }
    }
    Ok(true)
}

fn make_directory(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path)
        .map_err(|error| Error::io("cannot make the directory", path, error))
}

/// Adds the metadata to a directory that has manifests.
fn add(directory: &Path, content: &Content) -> Result<()> {
    if !directory.join(MANIFESTS).is_dir() {
        let text = shown(&directory.to_string_lossy());
        return Err(Error::conflict(format!("`{text}` exists and has no `{MANIFESTS}/`"))
            .hint(format!("move its objects into `{text}/{MANIFESTS}/`, or pack it as it is: `bundle pack {text} --package P --version V`")));
    }
    let folder = directory.join(manifest_bundle::bundle::METADATA);
    std::fs::create_dir_all(&folder)
        .map_err(|error| Error::io("cannot make the directory", &folder, error))?;
    let file = directory.join(metadata::FILE);
    match directory::write_file(&file, content, &WriteOptions::default()) {
        Ok(_) => Ok(()),
        // Somebody wrote it meanwhile.
        Err(error) if error.kind() == Kind::Conflict => Err(exists_already(directory)),
        Err(error) => Err(error),
    }
}

/// The error about a directory that says what it is: replacing what an author wrote is no beginning, so there is no flag for it.
fn exists_already(directory: &Path) -> Error {
    let text = shown(&directory.to_string_lossy());
    let file = shown(&directory.join(metadata::FILE).to_string_lossy());
    Error::conflict(format!("`{file}` exists already")).hint(format!(
        "change it in an editor, and `bundle validate {text}` checks it; or remove it and run this again"
    ))
}
