//! Tables of expectations and requirements.

use std::str::FromStr;

use manifest_bundle::error::Kind;
use manifest_bundle::expectation::{self, Expectations, Outcome};
use manifest_bundle::invalid::Invalid;
use manifest_bundle::metadata::{Metadata, key};
use manifest_bundle::requirement::Requirement;
use manifest_bundle::tag::Tag;
use manifest_bundle::version::Version;

use super::metadata::with;
use super::{list, optional, same};
use crate::spec::markdown::code;
use crate::spec::schemas::All;

pub(super) fn expectation(cells: &[String], _: &All) -> Result<(), String> {
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

pub(super) fn requirement(cells: &[String], _: &All) -> Result<(), String> {
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

pub(super) fn refused_requirement(cells: &[String], _: &All) -> Result<(), String> {
    match code(&cells[0])?.parse::<Requirement>() {
        Ok(_) => Err("this is accepted".into()),
        Err(_) => Ok(()),
    }
}
