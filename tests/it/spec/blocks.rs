//! The fenced blocks of the specification: the first two words of the info string name the executor.

use std::fmt::Write as _;

use manifest_bundle::bundle::Files;
use manifest_bundle::channel::Channel;
use manifest_bundle::error::Error;
use manifest_bundle::finding::Severity;
use manifest_bundle::image::identify;
use manifest_bundle::images::{self, ContainerImage, Grade};
use manifest_bundle::kdp;
use manifest_bundle::limits::Limits;
use manifest_bundle::metadata::{self, Metadata, key};
use manifest_bundle::oci::{Annotations, Document, ImageConfig, ManifestBlob};
use manifest_bundle::path::BundlePath;
use manifest_bundle::reference::Location;
use manifest_bundle::validate::{Options, validate};
use manifest_bundle::yaml;

use super::changes;
use super::golden::Sample;
use super::markdown::Block;
use super::schemas::{All, json};
use super::tables::same;
use crate::support::Sandbox;

/// Runs one block; the error says what does not hold.
pub(super) fn run(block: &Block, schemas: &All) -> Result<(), String> {
    let words: Vec<&str> = block.info.iter().map(String::as_str).collect();
    match words[..] {
        ["text", "grammar"] => grammar(block),
        ["text", "layer", ..] => layer(block),
        ["text", "archive", ..] => archive(block),
        ["json", "archive", ..] => archive_file(block),
        ["console", "error"] => failure(block),
        ["text", "bundle"] => directory(block),
        ["json", "manifest", how, ..] => manifest(block, how, schemas),
        ["json", "index", ..] => index(block, schemas),
        ["json", "config", how, ..] => config(block, how, schemas),
        ["yaml", "object", ..] => object(block),
        ["yaml", "images", ..] => images(block),
        ["yaml", "images-lock", ..] => images_lock(block, schemas),
        ["yaml", "annotations", ..] => annotations(block, schemas),
        ["yaml", "channel-file", ..] => channel_file(block),
        ["yaml", "rendered"] => rendered(block),
        ["text", "channels"] => channels(block),
        ["yaml", "change" | "schema", ..] => changes::run(block),
        ["yaml", "olm", _] => olm(block),
        _ => Err(format!("nothing executes a block `{}`", words.join(" "))),
    }
}

/// Puts the documents of a stream back into their file, and has it written in the order of the page.
fn rendered(block: &Block) -> Result<(), String> {
    let mut documents = Vec::new();
    let mut file = "";
    for part in block.text.split("---\n# ").skip(1) {
        let (place, text) = part.split_once('\n').ok_or("a document has no place")?;
        let (path, line) = place.split_once(':').ok_or("a place has no line")?;
        let line: usize = line.parse().map_err(|_| "a line is no number")?;
        file = path;
        documents.push((line, text));
    }
    documents.sort_unstable();
    let texts: Vec<&str> = documents.iter().map(|(_, text)| *text).collect();
    let sandbox = Sandbox::new();
    let path = sandbox.path(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, texts.join("---\n")).unwrap();
    let ran = sandbox.run(["render", "."]);
    same("what is written", ran.ok().stdout(), block.text.as_str())
}

/// Compares a file with that of the sample for OLM: as it is, or as it is packed with `--olm`.
fn olm(block: &Block) -> Result<(), String> {
    let root = crate::spec::root().join("testdata/olm/sample");
    let file = match (block.value("source"), block.value("packed")) {
        (Some(file), None) => file,
        (None, Some(file)) => {
            let sandbox = Sandbox::new();
            let source = root.to_str().unwrap();
            sandbox.run(["pack", source, "--olm", "-o", "b.tar"]).ok();
            sandbox.run(["unpack", "b.tar", "-o", "out"]).ok();
            let text = std::fs::read_to_string(sandbox.path("out").join(file)).unwrap();
            return same("the file", text.as_str(), block.text.as_str());
        }
        _ => return Err("say either `source=FILE` or `packed=FILE`".into()),
    };
    let text = std::fs::read_to_string(root.join(file)).map_err(|e| e.to_string())?;
    same("the file", text.as_str(), block.text.as_str())
}

/// Checks a channel file: which versions a package has in it.
fn channel_file(block: &Block) -> Result<(), String> {
    let listed = kdp::parse(block.text.as_bytes(), &Limits::default());
    let listed = listed.map_err(|e| e.to_string())?;
    let package = block.value("package").ok_or("say `package=NAME`")?;
    let package = package.parse().map_err(|e| format!("{e}"))?;
    let found = kdp::versions_of(&listed, &package);
    let mut found: Vec<_> = found.iter().map(|one| one.version.clone()).collect();
    found.sort();
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    let wanted = block.value("versions").ok_or("say `versions=…`")?;
    same("the versions", found.join(","), wanted.to_owned())
}

/// Imports a directory of channels, drawn as a tree, with a channel of all versions, and exports it again.
fn channels(block: &Block) -> Result<(), String> {
    let sandbox = Sandbox::new();
    let mut above: Vec<&str> = Vec::new();
    let mut files = Vec::new();
    let mut versions = String::from("manifests:\n");
    for line in block.text.lines() {
        let name = line.trim_start();
        above.truncate((line.len() - name.len()) / 2);
        let Some(directory) = name.strip_suffix('/') else {
            files.push([&above[..], &[name]].concat().join("/"));
            continue;
        };
        above.push(directory);
        if above.len() == 4 {
            writeln!(versions, "- version: {directory}").unwrap();
        }
    }
    for path in &files {
        let name = path.replace(['/', '.'], "-");
        let object = format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n");
        let is_manifest = path.contains(".yaml");
        sandbox.write(path, if is_manifest { &object } else { &versions });
    }
    let root = above.first().ok_or("there is no directory")?;
    for arguments in [
        ["channel", "import", root, "oci:store"],
        ["channel", "export", "oci:store", "out"],
    ] {
        sandbox.run(arguments).ok();
    }
    let before = crate::spec::files(&sandbox.path(root));
    let after = crate::spec::files(&sandbox.path("out"));
    let bytes = |files: Files| {
        let read = files.into_iter().map(|(p, c)| (p, c.to_bytes().unwrap()));
        read.collect::<Vec<_>>()
    };
    same("the files", bytes(after), bytes(before))
}

/// Checks an `annotations.yaml`: `valid`, or `invalid=CODE` with the codes of all its findings.
///
/// The schema must be of the same opinion, unless `schema=accepts` says that it cannot see the fault.
fn annotations(block: &Block, schemas: &All) -> Result<(), String> {
    let limits = Limits::default();
    let codes: Vec<&str> = match Metadata::parse(block.text.as_bytes(), &limits) {
        Ok(_) => Vec::new(),
        Err(findings) => findings.iter().map(|finding| finding.code).collect(),
    };
    let valid = block.has("valid");
    let wanted: Vec<&str> = match block.value("invalid") {
        Some(codes) if !valid => codes.split(',').collect(),
        None if valid => Vec::new(),
        _ => return Err("say either `valid` or `invalid=CODE`".into()),
    };
    same("the list of findings", codes, wanted)?;
    let mut documents = yaml::documents(block.text.as_bytes(), &limits);
    let document = documents.next().ok_or("there is no document")?;
    let document = document.map_err(|fault| fault.to_string())?;
    let accepted = schemas.check("annotations", &json(&document.root));
    if valid {
        accepted?;
    } else {
        let accepts = block.value("schema") == Some("accepts");
        same("whether the schema accepts it", accepted.is_ok(), accepts)?;
    }
    if block.has("canonical") {
        let (annotations, _) = metadata::parse(block.text.as_bytes(), &limits).unwrap();
        let written = String::from_utf8(metadata::write(&annotations)).unwrap();
        same("the canonical form", written, block.text.clone())?;
    }
    Ok(())
}

/// Checks a file below `manifests/`: `valid`, or `finding=CODE` for its one finding.
///
/// `placeholders` says that the bundle declares them, `min-operator-version=V` what its objects ask for.
fn object(block: &Block) -> Result<(), String> {
    let mut annotations = Annotations::from(
        [
            (key::MEDIATYPE, "manifests"),
            (key::PACKAGE, "etcd"),
            (key::VERSION, "3.5.0"),
            (key::OPERATOR_ID, "etcd-manager"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned())),
    );
    if block.has("placeholders") {
        annotations.insert(key::PLACEHOLDERS.to_owned(), "go-template".to_owned());
    }
    let files = Files::from([
        (
            metadata::FILE.parse().unwrap(),
            metadata::write(&annotations).into(),
        ),
        (
            "manifests/example.yaml".parse().unwrap(),
            block.text.clone().into_bytes().into(),
        ),
    ]);
    let report = validate(&files, &Limits::default(), &Options::default()).unwrap();
    let mut codes: Vec<&str> = Vec::new();
    for finding in report
        .findings
        .iter()
        .filter(|f| f.severity > Severity::Note)
    {
        codes.push(finding.code);
    }
    let wanted: Vec<&str> = match block.value("finding") {
        Some(code) if !block.has("valid") => vec![code],
        None if block.has("valid") => vec![],
        _ => return Err("say either `valid` or `finding=CODE`".into()),
    };
    same("the list of findings", codes, wanted)?;
    let minimum = report
        .min_operator_version
        .map(|minimum| minimum.version.to_string());
    let wanted = block.value("min-operator-version");
    same("the version that is asked for", minimum.as_deref(), wanted)
}

/// Checks which images a document names: `certain=…`, `likely=…` and `unnamed=…`, as they are written.
fn images(block: &Block) -> Result<(), String> {
    let path = "manifests/example.yaml".parse().unwrap();
    let files = Files::from([(path, block.text.clone().into_bytes().into())]);
    let found = images::collect(&files, &Limits::default()).map_err(|e| e.to_string())?;
    if let Some(unread) = found.unread.first() {
        return Err(format!("line {}: {}", unread.line, unread.why));
    }
    for grade in [Grade::Certain, Grade::Likely] {
        let of_grade = found.images.iter().filter(|image| image.grade == grade);
        let written: Vec<&str> = of_grade.map(ContainerImage::written).collect();
        let wanted = block.value(grade.name()).unwrap_or_default();
        same(grade.name(), written.join(","), wanted.to_owned())?;
    }
    let unnamed = found.unnamed.iter().map(|one| one.place.written.as_str());
    let wanted = block.value("unnamed").unwrap_or_default();
    same(
        "unnamed",
        unnamed.collect::<Vec<_>>().join(","),
        wanted.to_owned(),
    )
}

/// Checks a lock of images, `valid` or `invalid`; a valid one is written as it stands here.
///
/// The schema must be of the same opinion, unless `schema=accepts` says that it cannot see the fault.
fn images_lock(block: &Block, schemas: &All) -> Result<(), String> {
    let limits = Limits::default();
    let read = images::Lock::parse(block.text.as_bytes(), &limits);
    let document = yaml::documents(block.text.as_bytes(), &limits).next();
    let document = document.ok_or("there is no document")?;
    let document = document.map_err(|fault| fault.to_string())?;
    let accepted = schemas.check("images-lock", &json(&document.root));
    if block.has("valid") {
        let lock = read.map_err(|fault| format!("line {}: {}", fault.line, fault.message))?;
        accepted?;
        let written = String::from_utf8(lock.write()).unwrap();
        return same("what is written", written, block.text.clone());
    }
    let accepts = block.value("schema") == Some("accepts");
    same("whether the schema accepts it", accepted.is_ok(), accepts)?;
    same("whether it is read", read.is_ok(), false)
}

/// Checks a manifest or index, by what a reader and the schema of what is written make of it.
///
/// `written` is what a producer writes, with `of=SAMPLE` of that sample; `read` is what a reader takes although nobody writes it; `invalid=KIND` is refused.
/// `declared=TYPE` is the media type under which it came.
fn manifest(block: &Block, how: &str, schemas: &All) -> Result<(), String> {
    let declared = block.value("declared").unwrap_or_default();
    let parse = |text: &str| {
        let document = Document::parse(text.as_bytes(), declared, &Limits::default())?;
        if let Document::Manifest(manifest) = &document {
            // Whether it may be a bundle's, before anything else is fetched.
            identify(manifest, None)?;
        }
        Ok(document)
    };
    let Some(canonical) = readable(parse(&block.text), &block.text, how, "manifest", schemas)?
    else {
        return Ok(());
    };
    match parse(&canonical).map_err(|e| e.to_string())? {
        Document::Manifest(manifest) => {
            let again = String::from_utf8(manifest.write().unwrap()).unwrap();
            same("what is written again", &*again, &*canonical)?;
            written(block, "manifest", &canonical)
        }
        Document::Index(_) => Err("nobody writes an index for a bundle".into()),
    }
}

/// Checks the index of a channel, which is written as it is read.
fn index(block: &Block, schemas: &All) -> Result<(), String> {
    let limits = Limits::default();
    let name = block.value("channel").ok_or("say `channel=NAME`")?;
    let blob = ManifestBlob::new(block.text.clone().into_bytes(), &limits);
    let name = name.parse().map_err(|e| format!("{e}"))?;
    let channel = Channel::parse(&blob.map_err(|e| e.to_string())?, &name, &limits);
    let written = channel.and_then(|channel| channel.write(&limits));
    let written: serde_json::Value =
        serde_json::from_slice(&written.map_err(|e| e.to_string())?.bytes).unwrap();
    let read: serde_json::Value = serde_json::from_str(&block.text).unwrap();
    schemas.check("channel", &written)?;
    same("what is written", written, read)
}

/// Checks an image config in the same way.
fn config(block: &Block, how: &str, schemas: &All) -> Result<(), String> {
    let parse = |text: &str| ImageConfig::parse(text.as_bytes(), &Limits::default());
    let Some(canonical) = readable(parse(&block.text), &block.text, how, "config", schemas)? else {
        return Ok(());
    };
    let config = parse(&canonical).map_err(|e| e.to_string())?;
    let again = String::from_utf8(config.write().unwrap()).unwrap();
    same("what is written again", &*again, &*canonical)?;
    written(block, "config", &canonical)
}

/// Compares how a reader took a text with how the page says; returns the canonical form if it is one that is written.
fn readable<T>(
    parsed: Result<T, Error>,
    text: &str,
    how: &str,
    schema: &str,
    schemas: &All,
) -> Result<Option<String>, String> {
    if let Some(kind) = how.strip_prefix("invalid=") {
        let found = parsed.err().map_or("none", |error| error.kind().name());
        return same("the kind of the refusal", found, kind).map(|()| None);
    }
    parsed.map_err(|error| error.to_string())?;
    let value: serde_json::Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let accepted = schemas.check(schema, &value);
    match how {
        "written" => accepted.map(|()| Some(value.to_string())),
        "read" => {
            same("whether it is as it is written", accepted.is_ok(), false)?;
            Ok(None)
        }
        _ => Err("say `written`, `read` or `invalid=KIND`".into()),
    }
}

/// Returns the sample that a block is about.
fn sample(block: &Block) -> Result<Sample, String> {
    Ok(Sample::good(block.value("of").ok_or("say `of=SAMPLE`")?))
}

/// Checks the names of the entries in the layer of a sample.
fn layer(block: &Block) -> Result<(), String> {
    let wanted: Vec<String> = block.text.lines().map(str::to_owned).collect();
    let found = sample(block)?.entries().into_iter().map(|(name, _)| name);
    same("the list of entries", found.collect(), wanted)
}

/// Checks the names of the files in the archive of a sample.
fn archive(block: &Block) -> Result<(), String> {
    let wanted: Vec<String> = block.text.lines().map(str::to_owned).collect();
    same("the list of files", sample(block)?.archive_names(), wanted)
}

/// Checks what a file of the archive of a sample holds, as it is laid out for people.
fn archive_file(block: &Block) -> Result<(), String> {
    let name = block.value("file").ok_or("say `file=NAME`")?;
    let files = sample(block)?.layout();
    let found = files.get(name).ok_or("there is no such file")?;
    let wanted: serde_json::Value = serde_json::from_str(&block.text).map_err(|e| e.to_string())?;
    same(
        "the file",
        &*String::from_utf8_lossy(found),
        &*wanted.to_string(),
    )
}

/// Compares a document that is laid out for people with what a sample becomes.
fn written(block: &Block, what: &str, canonical: &str) -> Result<(), String> {
    match block.value("of") {
        Some(sample) => same(
            "what is written",
            &*Sample::good(sample).document(what),
            canonical,
        ),
        None => Ok(()),
    }
}

/// Runs a command that fails and compares what it says on the standard error; its exit code is the `code` in it.
fn failure(block: &Block) -> Result<(), String> {
    let (command, wanted) = block.text.split_once('\n').unwrap();
    let words = command
        .strip_prefix("$ bundle ")
        .ok_or("write `$ bundle …`")?;
    let ran = Sandbox::new().run(words.split_whitespace());
    same("the standard output", ran.stdout(), "")?;
    same("the standard error", ran.stderr(), wanted)?;
    let code = ran.error_json()["code"].as_i64();
    same("the exit code", Some(i64::from(ran.code())), code)
}

/// Checks the tree of a bundle: every file is where a bundle may have one.
fn directory(block: &Block) -> Result<(), String> {
    let mut above: Vec<&str> = Vec::new();
    let mut files = Vec::new();
    for line in block.text.lines() {
        let name = line.trim_start();
        let depth = (line.len() - name.len()) / 2;
        above.truncate(depth);
        if let Some(directory) = name.strip_suffix('/') {
            above.push(directory);
            continue;
        }
        let path = [above.get(1..).unwrap_or_default(), &[name]]
            .concat()
            .join("/");
        files.push(path.parse::<BundlePath>().map_err(|e| e.to_string())?);
    }
    same(
        "whether there is metadata",
        files.iter().any(|path| path.as_str() == metadata::FILE),
        true,
    )?;
    match files
        .iter()
        .find(|path| path.strip_prefix("manifests").is_none() && path.as_str() != metadata::FILE)
    {
        Some(path) => Err(format!("`{path}` has no place in a bundle")),
        None => Ok(()),
    }
}

/// Writes out every text that the grammar of a reference allows and parses it.
fn grammar(block: &Block) -> Result<(), String> {
    for line in block.text.lines() {
        let texts = expand(line);
        assert!(texts.len() > 1, "the grammar has optional parts");
        for text in texts {
            let text = [
                ("HOST", "ghcr.io"),
                ("PORT", "5000"),
                ("REPOSITORY", "acme/etcd"),
                ("TAG", "3.5.0"),
                ("NAME", "3.5.0"),
                ("DIRECTORY", "a/b"),
                ("FILE", "b.tar"),
                (
                    "DIGEST",
                    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                ),
            ]
            .iter()
            .fold(text, |text, (name, value)| text.replace(name, value));
            let location: Location = text.parse().map_err(|e| format!("{text}: {e}"))?;
            let printed = location.to_string();
            same(
                "what is printed",
                &*printed,
                text.trim_start_matches("oci://"),
            )?;
            if matches!(location, Location::Path(_) | Location::Stream) {
                return Err(format!("`{text}` is taken for a path"));
            }
        }
    }
    Ok(())
}

/// Expands `a[b]` to `a` and `ab`.
fn expand(grammar: &str) -> Vec<String> {
    let Some((before, rest)) = grammar.split_once('[') else {
        return vec![grammar.to_owned()];
    };
    let (optional, after) = rest.split_once(']').unwrap();
    let rest = expand(after);
    let with = rest.iter().map(|rest| format!("{before}{optional}{rest}"));
    let without = rest.iter().map(|rest| format!("{before}{rest}"));
    with.chain(without).collect()
}
