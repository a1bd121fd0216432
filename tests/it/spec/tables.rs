//! The tables of the specification, each kind run by the function that its header names.

use std::collections::BTreeSet;
use std::path::Path;
use std::str::FromStr;

use manifest_bundle::content::Spool;
use manifest_bundle::directory::{self, ReadOptions};
use manifest_bundle::error::{Error, Kind};
use manifest_bundle::expectation::{self, Expectations, Outcome};
use manifest_bundle::ignore::{self, Ignore};
use manifest_bundle::invalid::Invalid;
use manifest_bundle::json;
use manifest_bundle::limits::{Ceiling, Limits};
use manifest_bundle::metadata::{self, Metadata, key};
use manifest_bundle::oci::Annotations;
use manifest_bundle::path::{BundlePath, Distinct};
use manifest_bundle::reference::{Entry, Location, Registry};
use manifest_bundle::requirement::Requirement;
use manifest_bundle::tag::Tag;
use manifest_bundle::validate::{CHECKS, Options, validate};
use manifest_bundle::version::Version;

use super::golden::Sample;
use super::markdown::{Table, code};
use super::schemas::All;
use super::words;

/// Runs one table; returns what does not hold, with the line.
pub(super) fn run(page: &str, table: &Table, schemas: &All) -> Vec<(usize, String)> {
    let header: Vec<&str> = table.header.iter().map(String::as_str).collect();
    let row: fn(&[String], &All) -> Result<(), String> = match header[..] {
        ["Reference", "Kind"] => kind,
        ["Reference", "Registry", "Repository", "Tag", "Digest"] => parts,
        ["Refused", "Proposed"] => refused,
        ["Registry", "By itself"] => transport,
        ["Reference", "Path", "Name", "Digest"] => layout,
        ["Version", "Tag"] => version_tag,
        ["Tag", "Is"] => tag,
        ["Word", "Pattern", "Longest, in bytes"] => pattern,
        ["Word", "Longest, in bytes"] => length,
        ["Word", "Right", "Wrong"] => right_and_wrong,
        ["Check", "Asked", "The bundle says", "Outcome"] => expectation,
        ["Requirement", "Satisfied by", "Not satisfied by"] => requirement,
        ["Refused requirement"] => refused_requirement,
        ["Line of `.bundleignore`", "Leaves out", "Keeps"] => ignore_line,
        ["By itself left out", "What it is"] => return built_in(table),
        [
            "In a bare source" | "In a declared source" | "Flattened",
            "In the bundle",
        ] => {
            return source(table);
        }
        ["Exit code", "Kind", "Meaning"] => return exit_codes(table),
        ["Refused JSON", "Because"] => refused_json,
        ["Path", "Kind of refusal", "Because"] => path,
        ["Path", "Collides with"] => collision,
        ["Code", "About", "Severity", "Means"] => return findings(table),
        ["Consumer", "Version", "Works", "How", "Evidence"]
        | ["Registry", "Version", "Takes it", "Notes", "Evidence"] => evidence,
        ["KEP-2494" | "registry+v1", "Here"] => counterpart,
        ["Schema", "Describes"] => return schema_list(table, schemas),
        ["Not seen by a schema", "Example"] => unseen,
        // Reasons, and nothing that could be run.
        ["Rule", "Because"] => |cells, _| reason(cells),
        ["Offset", "Bytes", "Field", "Content"] => return header_fields(table),
        ["Refused key", "Because"] => refused_key,
        ["Key", "Required", "Value", "Example"] => return keys(table, schemas),
        ["Escaped from", "To"] => return escaped(table),
        ["Name", "Default", "Flag", "Bounds", "Why this value"] => return ceilings(table),
        _ => {
            return vec![(
                table.line,
                format!("{page} has a table {header:?} that nothing executes"),
            )];
        }
    };
    let mut faults = Vec::new();
    for line in &table.rows {
        if let Err(why) = row(&line.cells, schemas) {
            faults.push((line.line, why));
        }
    }
    if table.rows.is_empty() {
        faults.push((table.line, "the table is empty".into()));
    }
    faults
}

/// Fails unless both are the same.
#[expect(
    clippy::needless_pass_by_value,
    reason = "its callers make both values for it"
)]
pub(super) fn same<T: PartialEq + std::fmt::Debug>(
    what: &str,
    found: T,
    wanted: T,
) -> Result<(), String> {
    if found == wanted {
        Ok(())
    } else {
        Err(format!("{what} is {found:?}, the page says {wanted:?}"))
    }
}

/// Returns what a cell holds as code; nothing when the cell is empty.
fn optional(cell: &str) -> Result<Option<&str>, String> {
    (!cell.is_empty()).then(|| code(cell)).transpose()
}

fn location(text: &str) -> Result<Location, String> {
    let parsed: Location = text.parse().map_err(|e| format!("{e}"))?;
    let printed = parsed.to_string();
    let again: Location = printed.parse().map_err(|e| format!("{e}"))?;
    same("what is printed and read again", again, parsed.clone())?;
    Ok(parsed)
}

fn kind(cells: &[String], _: &All) -> Result<(), String> {
    let found = match location(code(&cells[0])?)? {
        Location::Stream => "stream",
        Location::Path(_) => "path",
        Location::Layout { .. } => "layout",
        Location::Archive { .. } => "archive",
        Location::Registry(_) => "registry",
    };
    same("the kind", found, &cells[1])
}

fn parts(cells: &[String], _: &All) -> Result<(), String> {
    let Location::Registry(found) = location(code(&cells[0])?)? else {
        return Err("this names no registry".into());
    };
    same(
        "the registry",
        &*found.repository.registry().to_string(),
        code(&cells[1])?,
    )?;
    same("the repository", found.repository.path(), code(&cells[2])?)?;
    same(
        "the tag",
        found.tag.as_ref().map(Tag::as_str),
        optional(&cells[3])?,
    )?;
    let digest = found.digest.map(|digest| digest.to_string());
    same("the digest", digest.as_deref(), optional(&cells[4])?)
}

fn refused(cells: &[String], _: &All) -> Result<(), String> {
    let text = code(&cells[0])?;
    let Err(invalid) = text.parse::<Location>() else {
        return Err("this is accepted".into());
    };
    if invalid.to_string().contains("password") {
        return Err("the refusal repeats a password".into());
    }
    same(
        "the proposal",
        invalid.hint.as_deref().unwrap_or_default(),
        &cells[1],
    )
}

fn transport(cells: &[String], _: &All) -> Result<(), String> {
    let registry: Registry = code(&cells[0])?.parse().map_err(|e| format!("{e}"))?;
    let found = if registry.is_loopback() {
        "plain HTTP"
    } else {
        "TLS"
    };
    same("the transport", found, &cells[1])
}

fn layout(cells: &[String], _: &All) -> Result<(), String> {
    let (Location::Layout { path, entry } | Location::Archive { path, entry }) =
        location(code(&cells[0])?)?
    else {
        return Err("this names neither a layout nor an archive".into());
    };
    let Entry { name, digest } = entry;
    same("the path", path.to_str(), Some(code(&cells[1])?))?;
    same(
        "the name",
        name.as_ref().map(Tag::as_str),
        optional(&cells[2])?,
    )?;
    let digest = digest.map(|digest| digest.to_string());
    same("the digest", digest.as_deref(), optional(&cells[3])?)
}

/// Returns the code spans of a cell that is a list of them.
fn list(cell: &str) -> Result<Vec<&str>, String> {
    cell.split(", ").map(code).collect()
}

fn expectation(cells: &[String], _: &All) -> Result<(), String> {
    let name = cells[0].as_str();
    let (asked, allow_unbound) = match cells[1].strip_suffix(" or none") {
        Some(asked) => (optional(asked)?, true),
        None => (optional(&cells[1])?, false),
    };
    fn parse<T: FromStr<Err = Invalid>>(text: Option<&str>) -> Result<Option<T>, String> {
        text.map(str::parse)
            .transpose()
            .map_err(|e: Invalid| e.to_string())
    }
    let mut expected = Expectations {
        allow_unbound,
        ..Expectations::default()
    };
    let mut tag = None;
    let key = match name {
        "package" => {
            expected.package = parse(asked)?;
            key::PACKAGE
        }
        "version" => {
            expected.version = parse(asked)?;
            key::VERSION
        }
        "operator id" => {
            expected.operator_id = parse(asked)?;
            key::OPERATOR_ID
        }
        "minimum operator version" => {
            expected.operator_version = parse(asked)?;
            key::MIN_OPERATOR_VERSION
        }
        "Kubernetes version" => {
            expected.kubernetes_version = parse(asked)?;
            key::MIN_KUBERNETES_VERSION
        }
        "tag against version" => {
            tag = parse::<Tag>(asked)?;
            key::VERSION
        }
        _ => return Err(format!("`{name}` is no check")),
    };
    let metadata = Metadata::of(with(&[(key, optional(&cells[2])?)]), &|_| 0);
    let metadata = metadata.map_err(|findings| findings[0].to_string())?;
    let checks = expectation::check(&metadata, tag.as_ref(), &expected);
    let check = checks.iter().find(|check| check.name == name);
    let outcome = check.ok_or("there is no such check")?.outcome;
    same("the outcome", outcome.name(), &*cells[3])?;
    let refused = expectation::require(&checks)
        .err()
        .map(|error| error.kind());
    let wanted = (outcome == Outcome::Failed).then_some(Kind::Refused);
    same("the kind of the refusal", refused, wanted)
}

fn requirement(cells: &[String], _: &All) -> Result<(), String> {
    let requirement: Requirement = code(&cells[0])?.parse().map_err(|e| format!("{e}"))?;
    for (cell, satisfied) in [(&cells[1], true), (&cells[2], false)] {
        for text in list(cell)? {
            let version: Version = text.parse().map_err(|e| format!("{e}"))?;
            let found = requirement.matches(&version);
            same(&format!("whether {text} satisfies it"), found, satisfied)?;
        }
    }
    Ok(())
}

fn refused_requirement(cells: &[String], _: &All) -> Result<(), String> {
    match code(&cells[0])?.parse::<Requirement>() {
        Ok(_) => Err("this is accepted".into()),
        Err(_) => Ok(()),
    }
}

fn ignore_line(cells: &[String], _: &All) -> Result<(), String> {
    let mut ignore = Ignore::new(&[], &[], true).map_err(|e| e.to_string())?;
    ignore
        .enter("", code(&cells[0])?.as_bytes())
        .map_err(|e| e.to_string())?;
    for (cell, left_out) in [(&cells[1], true), (&cells[2], false)] {
        for path in list(cell)? {
            // As a walk does, from the root downwards: nothing below a directory that is left out is looked at.
            let mut above: Vec<&Path> = Path::new(path).ancestors().collect();
            above.pop();
            let found = above
                .iter()
                .any(|p| ignore.rule(p, *p != Path::new(path)).is_some());
            same(&format!("whether `{path}` is left out"), found, left_out)?;
        }
    }
    Ok(())
}

/// The table of built-in rules is the code's list, in its order.
fn built_in(table: &Table) -> Vec<(usize, String)> {
    let cells = table.rows.iter().map(|row| list(&row.cells[0]));
    let patterns = cells
        .collect::<Result<Vec<_>, _>>()
        .map(|lists| lists.concat());
    let checked =
        patterns.and_then(|patterns| same("the list", ignore::BUILT_IN.to_vec(), patterns));
    checked
        .err()
        .into_iter()
        .map(|why| (table.line, why))
        .collect()
}

/// Makes a source of the files in the first column and reads it; the second says what becomes of each.
fn source(table: &Table) -> Vec<(usize, String)> {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("source");
    for row in &table.rows {
        let file = root.join(code(&row.cells[0]).unwrap());
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "a: b\n").unwrap();
    }
    let options = ReadOptions {
        flatten: table.header[0] == "Flattened",
        ..ReadOptions::default()
    };
    let mut spool = Spool::new(directory.path());
    let source = directory::read(&root, &options, &Limits::default(), &mut spool).unwrap();
    let mut faults = Vec::new();
    if source.declared != (table.header[0] == "In a declared source") {
        faults.push((table.line, "the source is of the other kind".into()));
    }
    let mut carried = 0;
    for row in &table.rows {
        let path = code(&row.cells[0]).unwrap();
        let left_out = source
            .left_out
            .iter()
            .find(|left_out| left_out.path == path);
        let found = if let Some(left_out) = left_out {
            format!("left out: {}", left_out.rule)
        } else {
            carried += 1;
            let renamed = source.renamed.iter().find(|(from, _)| from == path);
            let below = if source.declared { "" } else { "manifests/" };
            let to = renamed.map_or_else(|| format!("{below}{path}"), |(_, to)| to.to_string());
            let carries = source.files.keys().any(|file| file.as_str() == to);
            if carries {
                format!("`{to}`")
            } else {
                format!("not `{to}`")
            }
        };
        if let Err(why) = same("what becomes of it", &*found, &row.cells[1]) {
            faults.push((row.line, why));
        }
    }
    if carried != source.files.len() {
        faults.push((
            table.line,
            format!("there are other files: {:?}", source.files),
        ));
    }
    faults
}

/// The table of findings is the table of checks; the severity is what the sample in `testdata/bad` gives.
fn findings(table: &Table) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    if table.rows.len() != CHECKS.len() {
        faults.push((
            table.line,
            format!("there are {} checks in the code", CHECKS.len()),
        ));
    }
    for (row, check) in table.rows.iter().zip(CHECKS) {
        let checks = [
            same("the code", &*format!("`{}`", check.code), &row.cells[0]),
            same("what it is about", check.family.name(), &row.cells[1]),
            severity(check.code, &row.cells[2]),
            same("what it means", check.about, &row.cells[3]),
        ];
        let failed = checks.into_iter().filter_map(Result::err);
        faults.extend(failed.map(|why| (row.line, why)));
    }
    faults
}

/// Compares a severity with that of the sample; a few faults have none, since no directory can hold them.
fn severity(code: &str, wanted: &str) -> Result<(), String> {
    let sample = super::root().join("testdata/bad").join(code);
    if !sample.exists() {
        return match wanted {
            "error" | "warning" => Ok(()),
            _ => Err(format!("`{wanted}` is no severity")),
        };
    }
    let options = Options {
        needs_metadata: true,
        ..Options::default()
    };
    let files = super::files(&sample);
    let report = validate(&files, &Limits::default(), &options).unwrap();
    let found = report.findings.iter().find(|finding| finding.code == code);
    let found = found.ok_or("the sample does not show it")?;
    same("the severity", found.severity.name(), wanted)
}

/// A row of the compatibility page says how it is known; a test that tries it names the program.
fn evidence(cells: &[String], _: &All) -> Result<(), String> {
    if cells[0].is_empty() || cells[1].is_empty() {
        return Err("name the program and its version".into());
    }
    if !["yes", "with a setting", "no"].contains(&&*cells[2]) {
        return Err(format!("`{}` is no answer", cells[2]));
    }
    match cells[4].split_once(": ") {
        None if ["harness", "documentation"].contains(&&*cells[4]) => Ok(()),
        Some(("tried", test)) => {
            let text = std::fs::read_to_string(super::root().join(code(test)?));
            let text = text.map_err(|e| format!("{test}: {e}"))?.to_lowercase();
            let name = cells[0].to_lowercase();
            let mut words = name
                .split([' ', ',', '(', ')'])
                .filter(|word| word.len() > 3);
            if words.any(|word| text.contains(word)) {
                Ok(())
            } else {
                Err(format!("{test} does not try it"))
            }
        }
        _ => Err(format!("`{}` is no evidence", cells[4])),
    }
}

fn reason(cells: &[String]) -> Result<(), String> {
    if cells.iter().any(String::is_empty) {
        return Err("a rule has a reason".into());
    }
    Ok(())
}

/// A key of another format has one here.
fn counterpart(cells: &[String], schemas: &All) -> Result<(), String> {
    let (theirs, ours) = (code(&cells[0])?, code(&cells[1])?);
    let last = |key: &str| key.rsplit_once(".bundle.").map(|(_, last)| last.to_owned());
    same("the rest of the key", last(theirs), last(ours))?;
    if !KEYS.contains(&ours) {
        return Err(format!("`{ours}` is no key"));
    }
    // A bundle may have both.
    let theirs = theirs.replace("NAMESPACE", "example.org");
    same(
        "the list of findings",
        codes(with(&[(&theirs, Some("x"))]), schemas)?,
        vec![],
    )
}

/// The list of schemas is that of the files.
fn schema_list(table: &Table, schemas: &All) -> Vec<(usize, String)> {
    let cells = table.rows.iter().map(|row| row.cells[0].split('`').nth(1));
    let listed: BTreeSet<&str> = cells.flatten().collect();
    let checked = same("the list of schemas", listed, schemas.names().collect());
    checked
        .err()
        .into_iter()
        .map(|why| (table.line, why))
        .collect()
}

/// A fault that the library finds and the schema does not.
fn unseen(cells: &[String], schemas: &All) -> Result<(), String> {
    let (key, value) = code(&cells[1])?
        .split_once(": ")
        .ok_or("write `KEY: VALUE`")?;
    let annotations = with(&[(key, Some(value))]);
    schemas.check("keys", &serde_json::to_value(&annotations).unwrap())?;
    match Metadata::of(annotations, &|_| 0) {
        Ok(_) => Err("there is no fault".into()),
        Err(_) => Ok(()),
    }
}

/// The table of a header's fields is what every header of a layer holds.
fn header_fields(table: &Table) -> Vec<(usize, String)> {
    let sample = Sample::good("operator");
    let archive = sample.archive();
    let mut faults = Vec::new();
    let mut at = 0;
    for (name, size) in sample.entries() {
        let block = &archive[at..at + BLOCK];
        let mut next = 0;
        for row in &table.rows {
            let number = |cell: &String| cell.parse::<usize>().unwrap();
            let (offset, bytes) = (number(&row.cells[0]), number(&row.cells[1]));
            if offset != next {
                faults.push((row.line, format!("the field before ends at {next}")));
            }
            next = offset + bytes;
            let found = &block[offset..next];
            let wanted = field(&row.cells[2], &row.cells[3], bytes, (&name, size), block);
            if found != wanted {
                faults.push((
                    row.line,
                    format!("{name}: it holds {}", found.escape_ascii()),
                ));
            }
        }
        if next != BLOCK {
            faults.push((table.line, format!("the fields end at {next}")));
        }
        at += BLOCK + usize::try_from(size).unwrap().next_multiple_of(BLOCK);
    }
    if archive[at..] != [0; 2 * BLOCK] {
        faults.push((table.line, "the archive ends otherwise".into()));
    }
    faults
}

/// The size of a block of an archive.
const BLOCK: usize = 512;

/// Returns what a field of a header must hold by the words of its row.
fn field(
    field: &str,
    content: &str,
    bytes: usize,
    (name, size): (&str, u64),
    block: &[u8],
) -> Vec<u8> {
    let is_directory = name.ends_with('/');
    let mut wanted = match field {
        "name" => name.as_bytes().to_vec(),
        "prefix" => Vec::new(),
        "size" => format!("{size:011o}").into_bytes(),
        "checksum" => {
            let sum: u32 = block
                .iter()
                .enumerate()
                .map(|(i, byte)| u32::from(if (148..156).contains(&i) { b' ' } else { *byte }))
                .sum();
            format!("{sum:07o}").into_bytes()
        }
        _ => {
            let constants: Vec<&str> = content.split('`').skip(1).step_by(2).collect();
            let constant = match constants[..] {
                [] => "",
                [only] => only,
                [_, directory] if is_directory => directory,
                [file, ..] => file,
            };
            constant.as_bytes().to_vec()
        }
    };
    if content.ends_with("zeros") || content.is_empty() {
        wanted.resize(bytes, 0);
    }
    if content.ends_with("then a zero") {
        wanted.push(0);
    }
    wanted
}

/// The table of exit codes has every kind of failure, with its own name and code.
fn exit_codes(table: &Table) -> Vec<(usize, String)> {
    let listed = table.rows.iter().filter(|row| !row.cells[1].is_empty());
    let listed: BTreeSet<(&str, String)> = listed
        .map(|row| (row.cells[0].as_str(), row.cells[1].clone()))
        .collect();
    let known = KINDS.map(|kind| (exit_code(kind), format!("`{}`", kind.name())));
    let checked = same("the set of codes and kinds", listed, known.into());
    checked
        .err()
        .into_iter()
        .map(|why| (table.line, why))
        .collect()
}

const KINDS: [Kind; 13] = [
    Kind::Usage,
    Kind::NotFound,
    Kind::Denied,
    Kind::Unreachable,
    Kind::Protocol,
    Kind::Mismatch,
    Kind::Unsafe,
    Kind::Limit,
    Kind::Refused,
    Kind::Invalid,
    Kind::Io,
    Kind::Conflict,
    Kind::Interrupted,
];

/// The codes as they were promised. A kind that is new does not compile here, and wants a row in the table.
fn exit_code(kind: Kind) -> &'static str {
    match kind {
        Kind::Usage => "2",
        Kind::NotFound => "3",
        Kind::Denied => "4",
        Kind::Unreachable => "5",
        Kind::Protocol => "6",
        Kind::Mismatch => "7",
        Kind::Unsafe => "8",
        Kind::Limit => "9",
        Kind::Refused => "10",
        Kind::Invalid => "11",
        Kind::Io => "12",
        Kind::Conflict => "13",
        Kind::Interrupted => "130, 143",
    }
}

fn version_tag(cells: &[String], _: &All) -> Result<(), String> {
    let version: Version = code(&cells[0])?.parse().map_err(|e| format!("{e}"))?;
    let tag = Tag::of_version(&version).map_err(|e| e.to_string())?;
    same("the tag", tag.as_str(), code(&cells[1])?)?;
    same("the tag's version", tag.version(), Some(version))
}

fn tag(cells: &[String], _: &All) -> Result<(), String> {
    let tag: Tag = code(&cells[0])?.parse().map_err(|e| format!("{e}"))?;
    let found = match tag.version() {
        Some(version) => format!("version `{version}`"),
        None if tag.is_referrers() => "referrers".into(),
        None => "other".into(),
    };
    same("the tag", &*found, &cells[1])
}

fn pattern(cells: &[String], schemas: &All) -> Result<(), String> {
    let word = words::find(&cells[0])?;
    let schema = word.schema.ok_or("this word has no pattern")?;
    same("the pattern", schemas.pattern(schema), code(&cells[1])?)?;
    length(&[cells[0].clone(), cells[2].clone()], schemas)
}

fn length(cells: &[String], _: &All) -> Result<(), String> {
    let found = words::longest(words::find(&cells[0])?);
    same("the longest", &*found.to_string(), &cells[1])
}

fn refused_json(cells: &[String], _: &All) -> Result<(), String> {
    let found = json::parse("example", code(&cells[0])?.as_bytes(), &Limits::default());
    let kind = found.err().map(|error| error.kind());
    same("the kind of the refusal", kind, Some(Kind::Unsafe))
}

fn path(cells: &[String], _: &All) -> Result<(), String> {
    let found = BundlePath::admit(code(&cells[0])?.as_bytes());
    let kind = found.err().map(|error| error.kind().name());
    same("the kind of the refusal", kind, optional(&cells[1])?)
}

fn collision(cells: &[String], _: &All) -> Result<(), String> {
    let mut paths = Distinct::default();
    let path = |cell: &str| code(cell)?.parse::<BundlePath>().map_err(|e| e.to_string());
    paths.add(&path(&cells[0])?).map_err(|e| e.to_string())?;
    match paths.add(&path(&cells[1])?) {
        Ok(()) => Err("the two do not collide".into()),
        Err(error) => same("the kind of the refusal", error.kind(), Kind::Unsafe),
    }
}

fn right_and_wrong(cells: &[String], schemas: &All) -> Result<(), String> {
    let word = words::find(&cells[0])?;
    for (cell, right) in [(&cells[1], true), (&cells[2], false)] {
        let text = code(cell)?;
        same(
            &format!("whether `{text}` is right"),
            (word.parse)(text).is_ok(),
            right,
        )?;
        if let Some(schema) = word.schema {
            same(
                &format!("whether the schema takes `{text}`"),
                schemas.word(schema, text),
                right,
            )?;
        }
    }
    Ok(())
}

/// The smallest metadata, with some keys added, replaced, or (without a value) taken away.
fn with(pairs: &[(&str, Option<&str>)]) -> Annotations {
    let smallest = [
        (key::MEDIATYPE, "manifests"),
        (key::PACKAGE, "etcd"),
        (key::VERSION, "3.5.0"),
        (key::OPERATOR_ID, "etcd-manager"),
    ];
    let mut all = Annotations::from(smallest.map(|(k, v)| (k.to_owned(), v.to_owned())));
    for (key, value) in pairs {
        match value {
            Some(value) => all.insert((*key).to_owned(), (*value).to_owned()),
            None => all.remove(*key),
        };
    }
    all
}

/// Runs annotations through the library and the schema; returns the codes of the findings.
///
/// The two must agree on whether there is a fault at all.
fn codes(annotations: Annotations, schemas: &All) -> Result<Vec<&'static str>, String> {
    let document = serde_json::to_value(&annotations).unwrap();
    let accepted = schemas.check("keys", &document);
    match Metadata::of(annotations, &|_| 0) {
        Ok(_) => accepted.map(|()| Vec::new()),
        Err(_) if accepted.is_ok() => Err("the schema sees no fault".into()),
        Err(findings) => Ok(findings.iter().map(|finding| finding.code).collect()),
    }
}

fn refused_key(cells: &[String], schemas: &All) -> Result<(), String> {
    let name = code(&cells[0])?;
    let found = codes(with(&[(name, Some("x"))]), schemas)?;
    same("the list of findings", found, vec!["metadata-key"])?;
    let Err(findings) = Metadata::of(with(&[(name, Some("x"))]), &|_| 0) else {
        return Err("it is accepted".into());
    };
    let reason = cells[1].split(';').next().unwrap_or_default();
    let message = &findings[0].message;
    let said = message.ends_with(reason) || name == key::OCI_CREATED;
    same(&format!("whether {message:?} says why"), said, true)
}

/// The keys that have a meaning in the file.
const KEYS: [&str; 12] = [
    key::MEDIATYPE,
    key::PACKAGE,
    key::VERSION,
    key::MANIFESTS,
    key::METADATA,
    key::OPERATOR_ID,
    key::MIN_OPERATOR_VERSION,
    key::MIN_KUBERNETES_VERSION,
    key::CHANNELS,
    key::PLACEHOLDERS,
    key::OCI_VERSION,
    key::OCI_TITLE,
];

/// The table of keys has every key of the code, and says what is required and what a value may be.
fn keys(table: &Table, schemas: &All) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    let known = BTreeSet::from(KEYS);
    let listed = table.rows.iter().map(|row| row.cells[0].trim_matches('`'));
    if let Err(why) = same("the set of keys", listed.collect(), known) {
        faults.push((table.line, why));
    }
    for row in &table.rows {
        if let Err(why) = key_row(&row.cells, schemas) {
            faults.push((row.line, why));
        }
    }
    faults
}

fn key_row(cells: &[String], schemas: &All) -> Result<(), String> {
    let (name, example) = (code(&cells[0])?, code(&cells[3])?);
    let try_value = |value: &str| codes(with(&[(name, Some(value))]), schemas);
    same(
        "the list of findings for the example",
        try_value(example)?,
        vec![],
    )?;
    let without = codes(with(&[(name, None)]), schemas)?;
    let required = if without == ["metadata-required"] {
        "yes"
    } else {
        "no"
    };
    same("whether it is required", required, &cells[1])?;
    // A value is a word, a list of channel names, any text, or one of some constants.
    let (good, bad): (Vec<&str>, Vec<&str>) = match &*cells[2] {
        "text" => (vec!["any ä", ""], vec![]),
        "channel names" => (
            vec!["stable", "a,b", " a ,\tb "],
            vec!["", "a,", "A", "channel-a", "a b"],
        ),
        value if value.contains('`') => {
            let constants = value.split(" or ").map(code);
            (constants.collect::<Result<_, _>>()?, vec!["", "other"])
        }
        // The version is said twice, so that no other than the bundle's can be tried here.
        "version" if name == key::OCI_VERSION => (vec![], vec!["", "9.9.9.9"]),
        word => {
            let word = words::find(word)?;
            let texts = words::TEXTS.iter().copied();
            texts.partition(|text| (word.parse)(text).is_ok())
        }
    };
    for value in good {
        same(
            &format!("the list of findings for {value:?}"),
            try_value(value)?,
            vec![],
        )?;
    }
    for value in bad {
        if try_value(value)?.is_empty() {
            return Err(format!("{value:?} is accepted"));
        }
    }
    Ok(())
}

/// The table of escaped characters is what the writer does, for every character that a value may hold.
///
/// The same characters, and control characters, are refused in paths.
fn escaped(table: &Table) -> Vec<(usize, String)> {
    let mut ranges = Vec::new();
    for row in &table.rows {
        let point = |cell: &str| u32::from_str_radix(cell.trim_start_matches("U+"), 16).unwrap();
        ranges.push(point(&row.cells[0])..=point(&row.cells[1]));
    }
    let (mut value, mut wanted) = (String::new(), String::new());
    for c in ('\0'..=char::MAX).filter(|c| !c.is_control() && !matches!(c, '"' | '\\')) {
        value.push(c);
        let point = u32::from(c);
        match point {
            _ if !ranges.iter().any(|range| range.contains(&point)) => wanted.push(c),
            0..=0xffff => wanted.extend(format!("\\u{point:04x}").chars()),
            _ => wanted.extend(format!("\\U{point:08x}").chars()),
        }
    }
    for c in '\0'..=char::MAX {
        let listed = ranges.iter().any(|range| range.contains(&u32::from(c)));
        if (listed || c.is_control()) && format!("a{c}").parse::<BundlePath>().is_ok() {
            return vec![(table.line, format!("{c:?} is accepted in a path"))];
        }
    }
    let text = metadata::write(&Annotations::from([("a.b".into(), value)]));
    let text = String::from_utf8(text).unwrap();
    let found = text.split('"').nth(1).unwrap();
    let differ = found.chars().zip(wanted.chars()).find(|(a, b)| a != b);
    match differ {
        Some((a, b)) => vec![(
            table.line,
            format!("{a:?} is written where {b:?} should be"),
        )],
        None => Vec::new(),
    }
}

/// The table of ceilings is the code's: all of them, in its order, with its numbers and words.
fn ceilings(table: &Table) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    if table.rows.len() != Ceiling::ALL.len() {
        faults.push((
            table.line,
            format!("there are {} ceilings in the code", Ceiling::ALL.len()),
        ));
    }
    for (row, ceiling) in table.rows.iter().zip(Ceiling::ALL) {
        let name = ceiling.name();
        let flag = if ceiling.can_be_raised() {
            format!("`--max-{name}`")
        } else {
            String::new()
        };
        let checks = [
            same("the name", &*format!("`{name}`"), &row.cells[0]),
            number(&row.cells[1]).and_then(|n| same("the default", ceiling.default_value(), n)),
            same("the flag", &*flag, &row.cells[2]),
            same("what it bounds", ceiling.about(), &row.cells[3]),
            (!row.cells[4].is_empty())
                .then_some(())
                .ok_or("there is no reason".into()),
            refusal(*ceiling),
        ];
        let failed = checks.into_iter().filter_map(Result::err);
        faults.extend(failed.map(|why| (row.line, why)));
    }
    faults
}

/// What the page says of a refusal: it names the ceiling, its value and the flag.
fn refusal(ceiling: Ceiling) -> Result<(), String> {
    let value = ceiling.default_value();
    let error = Error::limit(ceiling, value, value + 1);
    let hint = error.detail().hint.clone().unwrap_or_default();
    let flag = hint.contains(&format!("--max-{} ", ceiling.name()));
    same(
        "whether the hint names the flag",
        flag,
        ceiling.can_be_raised(),
    )?;
    let message = error.message();
    if message.contains(ceiling.name()) && message.contains(&value.to_string()) {
        Ok(())
    } else {
        Err(format!(
            "the refusal {message:?} does not say which ceiling it is"
        ))
    }
}

/// Reads `1,024 MiB`.
fn number(cell: &str) -> Result<u64, String> {
    let (digits, unit) = match cell.split_once(' ') {
        None => (cell, 1),
        Some((digits, "KiB")) => (digits, 1024),
        Some((digits, "MiB")) => (digits, 1024 * 1024),
        Some((_, unit)) => return Err(format!("`{unit}` is no unit")),
    };
    let number: u64 = digits
        .replace(',', "")
        .parse()
        .map_err(|_| format!("{cell} is no number"))?;
    Ok(number * unit)
}
