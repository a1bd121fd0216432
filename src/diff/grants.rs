//! What roles allow: the difference between two sets of rules, seen through their wildcards.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::objects::{Object, ObjectId};
use crate::yaml::Node;

use super::Place;
use super::budget::Room;

/// How many single permissions of one role are looked at, and how long their words may be together.
const MANY: usize = 50_000;
const LONG: usize = 64 << 20;

/// What a permission takes beside its words.
const OVERHEAD: usize = 64;

/// Something that a role allows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grant {
    /// The API group, `*` for all; none for a path.
    pub group: Option<String>,
    /// The resource, such as `pods/log`, or the path of an endpoint.
    pub resource: String,
    /// The one object that may be reached; none means any.
    pub name: Option<String>,
    /// What may be done.
    pub verbs: Vec<String>,
}

/// What a role allows now and did not, and the reverse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grants {
    /// The role.
    pub role: ObjectId,
    /// Where it is on the old side and on the new one.
    pub places: [Option<Place>; 2],
    /// What it allows now.
    pub gained: Vec<Grant>,
    /// What it allowed.
    pub lost: Vec<Grant>,
    /// Whether its rules allow more single things than are compared here, so that only its fields tell.
    pub is_too_large: bool,
}

/// Tells whether an object is a role.
pub(super) fn is_role(id: &ObjectId) -> bool {
    id.group == "rbac.authorization.k8s.io" && matches!(id.kind.as_str(), "Role" | "ClusterRole")
}

/// Something that a verb can be allowed for: group, resource, name.
type Thing<'n> = (Option<&'n str>, &'n str, Option<&'n str>);

/// One thing that is allowed: group, resource, name, verb.
type Single<'n> = (Option<&'n str>, &'n str, Option<&'n str>, &'n str);

/// Compares what two states of a role allow.
pub(super) fn compare(
    old: Option<&Object>,
    new: Option<&Object>,
    places: &[Option<Place>; 2],
    room: &mut Room,
) -> Option<Grants> {
    let role = old.or(new)?.id.clone();
    let places = places.clone();
    let (Some(old), Some(new)) = (Allowed::by(old, room), Allowed::by(new, room)) else {
        return Some(Grants {
            role,
            places,
            gained: Vec::new(),
            lost: Vec::new(),
            is_too_large: true,
        });
    };
    let (gained, lost) = (grouped(&new, &old), grouped(&old, &new));
    let differs = !gained.is_empty() || !lost.is_empty();
    differs.then_some(Grants {
        role,
        places,
        gained,
        lost,
        is_too_large: false,
    })
}

/// What a role allows.
struct Allowed<'n> {
    singles: BTreeSet<Single<'n>>,
    /// The beginnings of paths with a wildcard behind them, by verb, in order; none begins with another one.
    beginnings: HashMap<&'n str, Vec<&'n str>>,
}

impl<'n> Allowed<'n> {
    /// Reads what a role allows, if there is one; none when that is too much.
    fn by(object: Option<&'n Object>, room: &mut Room) -> Option<Self> {
        let singles = object.map_or(Some(BTreeSet::new()), |object| singles(object, room))?;
        let mut open: Vec<(&str, &str)> = singles
            .iter()
            .filter(|(group, ..)| group.is_none())
            .filter_map(|(_, path, _, verb)| Some((path.strip_suffix('*')?, *verb)))
            .collect();
        open.sort_unstable();
        let mut beginnings: HashMap<&str, Vec<&str>> = HashMap::new();
        for (beginning, verb) in open {
            let known = beginnings.entry(verb).or_default();
            if !known.last().is_some_and(|last| beginning.starts_with(last)) {
                known.push(beginning);
            }
        }
        Some(Self {
            singles,
            beginnings,
        })
    }

    /// Tells whether something is allowed, by itself or by a wildcard.
    fn covers(&self, &(group, resource, name, verb): &Single<'_>) -> bool {
        let verbs = [verb, "*"];
        let Some(group) = group else {
            let is_allowed = |verb| self.singles.contains(&(None, resource, None, verb));
            return verbs
                .iter()
                .any(|verb| is_allowed(verb) || self.covers_path(resource, verb));
        };
        let below = resource.split_once('/').map(|(_, sub)| format!("*/{sub}"));
        let resources = [Some(resource), Some("*"), below.as_deref()];
        [group, "*"].iter().any(|group| {
            resources.iter().flatten().any(|resource| {
                [None, name].iter().any(|name| {
                    let is_allowed = |verb: &&str| {
                        let single = (Some(*group), *resource, *name, *verb);
                        self.singles.contains(&single)
                    };
                    verbs.iter().any(is_allowed)
                })
            })
        })
    }

    /// Tells whether a path is allowed by one that ends in a wildcard: by the last that does not come behind it.
    fn covers_path(&self, path: &str, verb: &str) -> bool {
        let known = self.beginnings.get(verb).map(Vec::as_slice);
        let known = known.unwrap_or_default();
        let count = known.partition_point(|beginning| *beginning <= path);
        let last = count.checked_sub(1).and_then(|at| known.get(at));
        last.is_some_and(|beginning| path.starts_with(beginning))
    }
}

/// Returns all single things that a role allows; none when they are too many, or their words too long.
fn singles<'n>(object: &'n Object, room: &mut Room) -> Option<BTreeSet<Single<'n>>> {
    let mut all = BTreeSet::new();
    let (mut many, mut long) = (Room(MANY), Room(LONG));
    let rules = object.node.get("rules").and_then(Node::as_sequence);
    for rule in rules.unwrap_or_default() {
        let verbs = words(rule.get("verbs"));
        let mut names: Vec<Option<&str>> = words(rule.get("resourceNames"))
            .into_iter()
            .map(Some)
            .collect();
        if names.is_empty() {
            names.push(None);
        }
        let (groups, resources) = (words(rule.get("apiGroups")), words(rule.get("resources")));
        let paths = words(rule.get("nonResourceURLs"));
        let objects = groups.len().checked_mul(resources.len())?;
        let things = objects.checked_mul(names.len())?.checked_add(paths.len())?;
        if !many.take(things.checked_mul(verbs.len())?) {
            return None;
        }
        let paths = paths.into_iter().map(|path| (None, path, None));
        let objects = groups.iter().flat_map(|group| {
            let names = &names;
            resources.iter().flat_map(move |resource| {
                names
                    .iter()
                    .map(move |name| (Some(*group), *resource, *name))
            })
        });
        for (group, resource, name) in paths.chain(objects) {
            for verb in &verbs {
                let words = [group, Some(resource), name, Some(verb)];
                let size = words.into_iter().flatten().map(str::len);
                let size = size.fold(OVERHEAD, usize::saturating_add);
                if !long.take(size) || !room.take(size) {
                    return None;
                }
                all.insert((group, resource, name, *verb));
            }
        }
    }
    Some(all)
}

fn words(node: Option<&Node>) -> Vec<&str> {
    let items = node.and_then(Node::as_sequence).unwrap_or_default();
    items.iter().filter_map(Node::as_str).collect()
}

/// Returns what one role allows and the other does not, with the verbs of one thing together.
fn grouped(these: &Allowed<'_>, those: &Allowed<'_>) -> Vec<Grant> {
    let mut grants: BTreeMap<Thing<'_>, Vec<String>> = BTreeMap::new();
    for single @ &(group, resource, name, verb) in &these.singles {
        if !those.covers(single) {
            let verbs = grants.entry((group, resource, name)).or_default();
            verbs.push(verb.to_owned());
        }
    }
    let grant = |((group, resource, name), verbs): (Thing<'_>, _)| Grant {
        group: group.map(str::to_owned),
        resource: resource.to_owned(),
        name: name.map(str::to_owned),
        verbs,
    };
    grants.into_iter().map(grant).collect()
}
