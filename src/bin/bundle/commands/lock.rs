//! `bundle lock`: the digest of every image that a bundle names.

mod found;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use manifest_bundle::bundle::MANIFESTS;
use manifest_bundle::content::Content;
use manifest_bundle::directory;
use manifest_bundle::escape::shown;
use manifest_bundle::images::{self, ContainerImage, Grade, LOCK, Lock, Pin};
use manifest_bundle::limits::Ceiling;
use manifest_bundle::ops::lock::{self, Digests};
use manifest_bundle::reference::{Location, Reference};
use manifest_bundle::{Error, Kind, Result};
use serde_json::{Value, json};

use self::found::Found;
use super::images::{unnamed, unnamed_values, without_image};
use super::source_files::{self, SourceArgs, SourceFiles};
use crate::args::{Access, AccessArgs, TransferArgs, word};
use crate::output::Answer;
use crate::report::counted;
use crate::settings::Settings;

/// Pin the container images that a bundle names to their digests
///
/// Asks the registry of each image which digest its tag has, for several platforms that of the index, and writes
/// metadata/images.lock.yaml into a directory with manifests/, which `pack` carries. From any other source the lock is printed, or
/// written with -o. Credentials come from `bundle login` and docker's files, for each registry its own. Nothing is written
/// unless every image is found. With --check nothing is written; exit 1: the lock is not what the registries say.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bundle lock etcd/
  bundle lock etcd/ --check
  bundle lock ghcr.io/team/etcd:3.5.0 -o images.lock.yaml")]
pub(crate) struct Args {
    /// A directory, a file, an archive, oci:DIR[:NAME], a registry reference, or `-`
    #[arg(value_name = "SRC", value_parser = word::<Location>)]
    pub(super) source: Location,
    /// Compare the lock with the manifests and the registries, and write nothing
    #[arg(long, conflicts_with = "output")]
    check: bool,
    /// Leave out images that are likely only; --check does so by itself where the lock has none
    #[arg(long)]
    certain: bool,
    /// Write the lock to this file, `-` is stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Let that file be replaced, also when it is no lock
    #[arg(long, requires = "output")]
    force: bool,
    #[command(flatten)]
    files: SourceArgs,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    pub(crate) transfer: TransferArgs,
}

pub(crate) async fn run(args: &Args, settings: &Settings) -> Result<Answer> {
    let access = args.access.access();
    let reach = settings.reach(&access)?;
    let files = source_files::read(&args.source, &args.files, &reach, settings).await?;
    let inventory = images::collect(&files.files, &settings.limits)?;
    let allow_invalid = args.files.allow_invalid;
    source_files::unread(&files, &inventory.unread, allow_invalid, settings)?;
    let former = former(&files, settings)?;
    if args.check && former.is_none() {
        return Err(no_lock(args, &files));
    }
    let certain = args.certain || args.check && is_certain_only(former.as_ref());
    let (images, passed_over): (Vec<&ContainerImage>, Vec<&ContainerImage>) = inventory
        .images
        .iter()
        .partition(|image| image.grade == Grade::Certain || !certain);
    one_registry(&access, &args.source, &images)?;
    let names: Vec<Reference> = images.iter().map(|image| image.reference.clone()).collect();
    let progress = settings.talk.work("asking registries");
    let concurrency = usize::from(args.transfer.concurrency);
    let answers = lock::find(&names, &reach, concurrency).await;
    drop(progress);
    let found = found::sort(&images, answers, args.check, &files, settings)?;
    let with_digests = || found.images.iter().zip(&found.digests);
    let lock = Lock::of(with_digests().map(|(image, digests)| Pin::of(image, digests.digest)));
    let mut answer = match former {
        Some(former) if args.check => checked(&former, &lock, &found, &files, args),
        former => {
            for (image, found) in with_digests() {
                if let Some(moved) = moved(image, found) {
                    settings.talk.warn(moved);
                }
            }
            write(&lock, former.as_ref(), &files, args, settings)?
        }
    };
    // What has no digest is said whatever else is (P11).
    let mut closing = answer.closing.take().unwrap_or_else(|| {
        let count = counted(images.len(), "image");
        format!("{count}, printed")
    });
    if !passed_over.is_empty() {
        let likely = counted(passed_over.len(), "likely image");
        closing = format!("{closing}; {likely} passed over");
    }
    closing.push_str(&without_image(&inventory));
    answer.closing = settings.talk.closing(closing);
    if !settings.talk.is_quiet() {
        answer.aside = unnamed(&inventory, &files).join("\n");
    }
    let more = json!({ "unnamed": unnamed_values(&inventory, &files) });
    extend(&mut answer.value, &more);
    Ok(answer)
}

/// Tells whether a lock was written with `--certain`, as far as that can be seen.
fn is_certain_only(lock: Option<&Lock>) -> bool {
    lock.is_some_and(|lock| lock.pins.values().all(|pin| pin.grade == Grade::Certain))
}

/// Says that there is no lock to compare, and where one comes from.
fn no_lock(args: &Args, files: &SourceFiles) -> Error {
    let source = shown(&args.source.to_string());
    let hint = match &files.directory {
        Some(_) if files.declared => format!("`bundle lock {source}` writes it"),
        Some(_) => format!(
            "the lock is a part of a bundle: put the files into `{source}/{MANIFESTS}/`, and `bundle lock {source}` writes it"
        ),
        None if files.record.is_some() => {
            "`bundle lock` writes it into a bundle's directory, and `bundle pack` carries it from there".to_owned()
        }
        None => "the lock is a part of a bundle, and this is a stream of objects".to_owned(),
    };
    Error::not_found(format!("`{source}` has no `{LOCK}`")).hint(hint)
}

/// Reads the lock that is there.
///
/// # Errors
///
/// It cannot be read as one: it is not written over, because somebody may have made it by hand.
fn former(files: &SourceFiles, settings: &Settings) -> Result<Option<Lock>> {
    let place = files.place_of(LOCK);
    let read = Lock::among(&files.files, &settings.limits).map_err(|error| match error.kind() {
        Kind::Limit => error.at(&place).file(&place),
        _ => error,
    })?;
    let lock = read.transpose().map_err(|fault| {
        let at = shown(&place);
        Error::invalid(format!("{at}:{}: {}", fault.line, fault.message))
            .file(&place)
            .line(fault.line)
            .hint(format!("remove `{at}` and run `bundle lock` again"))
    })?;
    Ok(lock)
}

/// Refuses flags that would show one registry's secrets, or another's weakness, to all of them.
fn one_registry(access: &Access, source: &Location, images: &[&ContainerImage]) -> Result<()> {
    let mut registries: BTreeSet<String> = images
        .iter()
        .map(|image| image.reference.repository.registry().to_string())
        .collect();
    if let Location::Registry(reference) = source {
        registries.insert(reference.repository.registry().to_string());
    }
    let flag = if access.username.is_some() || access.password_stdin {
        "--username"
    } else if access.cert_file.is_some() {
        "--cert-file"
    } else if access.plain_http == Some(true) {
        "--plain-http"
    } else if access.insecure {
        "--insecure"
    } else {
        return Ok(());
    };
    if registries.len() < 2 {
        return Ok(());
    }
    let names: Vec<String> = registries.into_iter().collect();
    Err(Error::usage(format!(
        "{flag} would hold for several registries: {}",
        names.join(", ")
    ))
    .hint("`bundle login` keeps a password for each registry"))
}

/// Says that a tag names something else than the digest beside it.
fn moved(image: &ContainerImage, found: &Digests) -> Option<String> {
    let tag = image.reference.tag.as_ref()?;
    image.reference.digest?;
    let written = shown(image.written());
    match found.tagged {
        Some(digest) if digest == found.digest => None,
        Some(digest) => Some(format!(
            "`{written}`: `{tag}` now names {digest}; the digest decides"
        )),
        None => Some(format!(
            "`{written}`: there is no tag `{tag}` any more; the digest decides"
        )),
    }
}

/// Compares the lock with what manifests and registries say.
fn checked(
    former: &Lock,
    now: &Lock,
    found: &Found<'_>,
    files: &SourceFiles,
    args: &Args,
) -> Answer {
    let mut differences = Vec::new();
    let mut differ = |image: &str, why: &str, locked: Option<String>, found: Option<String>| {
        differences.push(json!({ "image": image, "why": why, "locked": locked, "found": found }));
    };
    for (name, pin) in &now.pins {
        match former.pins.get(name) {
            None => differ(name, "not locked", None, Some(pin.digest.to_string())),
            Some(locked) if locked.digest != pin.digest => {
                let (locked, found) = (locked.digest.to_string(), pin.digest.to_string());
                differ(name, "moved", Some(locked), Some(found));
            }
            Some(_) => {}
        }
    }
    let missing = found.missing.iter();
    let missing: BTreeSet<String> = missing.map(|image| image.reference.to_string()).collect();
    for name in &missing {
        let locked = former.pins.get(name).map(|pin| pin.digest.to_string());
        differ(name, "not there", locked, None);
    }
    for (name, pin) in &former.pins {
        let is_left_out = args.certain && pin.grade == Grade::Likely || missing.contains(name);
        if !now.pins.contains_key(name) && !is_left_out {
            differ(name, "not named", Some(pin.digest.to_string()), None);
        }
    }
    // A digest that stands beside a tag in a manifest is not changed by it, and is told all the same.
    for (image, found) in found.images.iter().zip(&found.digests) {
        if image.reference.digest.is_some() && moved(image, found).is_some() {
            let tagged = found.tagged.map(|digest| digest.to_string());
            let name = image.reference.to_string();
            differ(&name, "moved", Some(found.digest.to_string()), tagged);
        }
    }
    let text: Vec<String> = differences.iter().map(sentence).collect();
    let mut value = files.record();
    extend(
        &mut value,
        &json!({ "images": pins(former), "differences": differences, "file": LOCK, "changed": false }),
    );
    let mut answer = Answer::new(text.join("\n"), value);
    answer.code = u8::from(!text.is_empty());
    answer.closing = Some(match text.len() {
        0 => format!("{}: all as locked", counted(former.pins.len(), "image")),
        count => counted(count, "difference"),
    });
    answer
}

/// Says one difference in words.
fn sentence(difference: &Value) -> String {
    let text = |key: &str| {
        difference
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or("nothing")
    };
    let (image, locked, found) = (shown(text("image")), text("locked"), text("found"));
    match text("why") {
        "moved" => format!("{image}: locked {locked}, now {found}"),
        "not locked" => format!("{image}: not locked, now {found}"),
        "not there" => format!("{image}: locked {locked}, and its registry has no such image"),
        _ => format!("{image}: locked {locked}, and no manifest names it"),
    }
}

/// Writes the lock where it belongs, or prints it.
fn write(
    lock: &Lock,
    former: Option<&Lock>,
    files: &SourceFiles,
    args: &Args,
    settings: &Settings,
) -> Result<Answer> {
    let bytes = lock.write();
    let file = match (&args.output, &files.directory) {
        (Some(path), _) => Some(path.clone()).filter(|path| path.as_os_str() != "-"),
        (None, Some(directory)) if files.declared => Some(directory.join(LOCK)),
        (None, Some(directory)) => {
            let directory = shown(&directory.to_string_lossy());
            settings.talk.say(format!(
                "the lock is printed, because `{directory}` is no bundle: with the files in `{directory}/{MANIFESTS}/` it is written, and with -o anywhere"
            ));
            None
        }
        (None, None) => None,
    };
    let is_same = files
        .files
        .get(LOCK)
        .map(Content::to_bytes)
        .is_some_and(|content| content.is_ok_and(|content| *content == *bytes));
    let changed = match &file {
        Some(_) if args.output.is_none() && is_same => false,
        Some(path) => {
            if let (None, Some(folder)) = (&args.output, path.parent()) {
                std::fs::create_dir_all(folder)
                    .map_err(|error| Error::io("cannot make the directory", folder, error))?;
            }
            let options = settings
                .stop
                .write_options(may_replace(path, args, settings)?, false);
            directory::write_file(path, &Content::from(bytes.clone()), &options)?;
            true
        }
        None => false,
    };
    let shown_file = file
        .as_ref()
        .map(|path| path.to_string_lossy().into_owned());
    let mut value = files.record();
    extend(
        &mut value,
        &json!({ "images": pins(lock), "differences": null, "file": shown_file, "changed": changed }),
    );
    let Some(path) = shown_file else {
        // It is this tool's own text, and everything in it is escaped.
        let text = String::from_utf8_lossy(&bytes).trim_end().to_owned();
        return Ok(Answer::new(text, value));
    };
    for (name, before, after) in moves(former, lock) {
        settings
            .talk
            .say(format!("{}: was {before}, now {after}", shown(&name)));
    }
    let text: Vec<String> = lock
        .pins
        .values()
        .map(|pin| pin.pinned().to_string())
        .collect();
    let mut answer = Answer::new(text.join("\n"), value);
    let what = if changed { "written" } else { "unchanged" };
    let count = counted(lock.pins.len(), "image");
    answer.closing = Some(format!("{}: {what}, {count}", shown(&path)));
    Ok(answer)
}

/// Tells whether the lock may take the place of what is at its path: of a lock, or of anything at the lock's own place.
fn may_replace(path: &Path, args: &Args, settings: &Settings) -> Result<bool> {
    let content = match directory::look(path)? {
        _ if args.force || args.output.is_none() => return Ok(true),
        directory::Standing::File(content) => content,
        _ => return Ok(false),
    };
    let is_read = content.len() <= settings.limits[Ceiling::Yaml];
    let bytes = is_read.then(|| content.to_bytes()).transpose();
    let bytes = bytes.map_err(|error| Error::io("cannot read", path, error))?;
    Ok(bytes.is_some_and(|bytes| Lock::parse(&bytes, &settings.limits).is_ok()))
}

/// Returns the images whose digest is another one than before.
fn moves(former: Option<&Lock>, lock: &Lock) -> Vec<(String, String, String)> {
    let before: BTreeMap<&String, &Pin> = former.iter().flat_map(|lock| &lock.pins).collect();
    let pins = lock.pins.iter().filter_map(|(name, pin)| {
        let old = before.get(name).filter(|old| old.digest != pin.digest)?;
        Some((name.clone(), old.digest.to_string(), pin.digest.to_string()))
    });
    pins.collect()
}

/// Returns the JSON form of pins.
pub(super) fn pins(lock: &Lock) -> Vec<Value> {
    let pins = lock.pins.values().map(|pin| {
        let places = pin.places.iter();
        json!({
            "image": pin.image.to_string(),
            "tag": pin.image.tag.as_ref().map(ToString::to_string),
            "digest": pin.digest.to_string(),
            "pinned": pin.pinned().to_string(),
            "grade": pin.grade.name(),
            "written": pin.written,
            "places": places
                .map(|(file, object, path)| json!({ "file": file, "object": (!object.is_empty()).then_some(object), "path": path }))
                .collect::<Vec<_>>(),
        })
    });
    pins.collect()
}

fn extend(value: &mut Value, more: &Value) {
    if let (Some(members), Some(more)) = (value.as_object_mut(), more.as_object()) {
        members.extend(more.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
}
