//! What differs between two values, field by field, down to the smallest part that has a name or a place.

use serde_json::Value as Json;

use crate::objects::Object;
use crate::quantity::Quantity;
use crate::yaml::{Node, Value};

use super::budget::{Budget, LineBudget};
use super::lists::{self, Pair};
use super::mask::Mask;
use super::path::{FieldPath, Step};
use super::value::{members, same};

/// How a field differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldChange {
    /// Only the new side has it.
    Added,
    /// Only the old side has it.
    Removed,
    /// Its value is another one.
    Changed,
    /// A list has the same items in another order; the values are what tells the items apart.
    Reordered,
}

/// A field that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Where it is.
    pub path: FieldPath,
    /// How it differs.
    pub change: FieldChange,
    /// The old value, null when there was none; what is hidden is [`HIDDEN`](super::HIDDEN).
    pub old: Json,
    /// The new value, likewise.
    pub new: Json,
    /// Whether something in the values is hidden.
    pub hidden: bool,
    /// The line of the old value in its file, 0 when there was none.
    pub old_line: u32,
    /// The line of the new value in its file, 0 when there is none.
    pub new_line: u32,
}

/// Compares two objects that are the same object.
pub(super) fn of_objects(old: &Object, new: &Object, budget: &mut Budget) -> Vec<Field> {
    let mut walk = Walk::new(Mask::of(Some(&new.id.kind)), budget);
    walk.is_limit_range = new.id.group.is_empty() && new.id.kind == "LimitRange";
    let versions = (old.api_version(), new.api_version());
    if versions.0 != versions.1 {
        walk.fields.push(Field {
            path: FieldPath(vec![Step::Key("apiVersion".to_owned())]),
            change: FieldChange::Changed,
            old: versions.0.into(),
            new: versions.1.into(),
            hidden: false,
            old_line: old.line,
            new_line: new.line,
        });
    }
    let is_type = |key: &str| matches!(key, "apiVersion" | "kind");
    walk.mappings(&old.node, &new.node, &is_type);
    walk.fields
}

/// Compares two documents that are no objects; `hides_all` says that a Secret is made from them.
pub(super) fn of_documents(
    old: &Node,
    new: &Node,
    hides_all: bool,
    budget: &mut Budget,
) -> Vec<Field> {
    let kind = |node: &Node| Mask::of(node.get("kind").and_then(Node::as_str));
    // If one of them is a Secret, both are treated as one.
    let mask = match kind(old) {
        _ if hides_all => Mask::Hidden,
        Mask::Open => kind(new),
        mask => mask,
    };
    let mut walk = Walk::new(mask, budget);
    walk.values(old, new);
    walk.fields
}

/// Tells whether two values of one field differ in nothing but how quantities are written.
pub(super) fn are_alike(path: &[&str], old: &Node, new: &Node) -> bool {
    let mut budget = Budget {
        lines: LineBudget::of(0),
        ..Budget::default()
    };
    let mut walk = Walk::new(Mask::Open, &mut budget);
    walk.path = path
        .iter()
        .map(|key| Step::Key((*key).to_owned()))
        .collect();
    walk.values(old, new);
    walk.fields.is_empty()
}

/// A walk over two values. The depth of a document bounds it.
struct Walk<'b> {
    budget: &'b mut Budget,
    path: Vec<Step>,
    /// What a copy of the path takes.
    size: usize,
    masks: Vec<Mask>,
    fields: Vec<Field>,
    is_limit_range: bool,
}

impl<'b> Walk<'b> {
    fn new(mask: Mask, budget: &'b mut Budget) -> Self {
        Self {
            budget,
            path: Vec::new(),
            size: 0,
            masks: vec![mask],
            fields: Vec::new(),
            is_limit_range: false,
        }
    }

    fn mask(&self) -> Mask {
        self.masks.last().copied().unwrap_or(Mask::Hidden)
    }

    fn values(&mut self, old: &Node, new: &Node) {
        match (&old.value, &new.value) {
            (Value::Mapping(_), Value::Mapping(_)) => self.mappings(old, new, &|_| false),
            (Value::Sequence(a), Value::Sequence(b)) => self.sequences(old, a, new, b),
            _ if same(old, new) || self.is_same_quantity(old, new) => {}
            _ => self.note(FieldChange::Changed, Some(old), Some(new)),
        }
    }

    /// Tells whether two values are one amount, where an amount stands.
    fn is_same_quantity(&self, old: &Node, new: &Node) -> bool {
        self.is_at_quantity()
            && Quantity::of(old).is_some_and(|amount| Quantity::of(new) == Some(amount))
    }

    /// Tells whether the field holds a quantity, by its name and the names of what it is in.
    fn is_at_quantity(&self) -> bool {
        let mut keys = self.path.iter().rev().map(|step| match step {
            Step::Key(key) => key.as_str(),
            _ => "",
        });
        let (field, parent, above) = (keys.next(), keys.next(), keys.next());
        let has_parent = |names: &[&str]| parent.is_some_and(|parent| names.contains(&parent));
        let is_limit = has_parent(&[
            "max",
            "min",
            "default",
            "defaultRequest",
            "maxLimitRequestRatio",
        ]);
        field == Some("sizeLimit")
            || has_parent(&["requests", "limits"]) && above == Some("resources")
            || has_parent(&["capacity", "hard"]) && above == Some("spec")
            || has_parent(&["overhead", "podFixed"])
            || is_limit && keys.any(|key| key == "limits") && self.is_limit_range
    }

    fn mappings(&mut self, old: &Node, new: &Node, skipped: &dyn Fn(&str) -> bool) {
        let mut pairs: Vec<(&str, [Option<&Node>; 2])> = sorted(old)
            .into_iter()
            .map(|(key, value)| (key, [Some(value), None]))
            .collect();
        let known = pairs.len();
        for (key, value) in sorted(new) {
            let (before, _) = pairs.split_at_mut_checked(known).unwrap_or_default();
            match before.binary_search_by_key(&key, |(key, _)| *key) {
                Ok(at) => {
                    if let Some((_, pair)) = before.get_mut(at) {
                        pair[1] = Some(value);
                    }
                }
                Err(_) => pairs.push((key, [None, Some(value)])),
            }
        }
        pairs.sort_by_key(|(key, _)| *key);
        for (key, [old, new]) in pairs {
            if !skipped(key) {
                self.masks.push(self.mask().below(key));
                self.step(Step::of_key(key), old, new);
                self.masks.pop();
            }
        }
    }

    fn sequences(&mut self, old: &Node, a: &[Node], new: &Node, b: &[Node]) {
        let name = self.path.iter().rev().find_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            _ => None,
        });
        // What tells items apart would be shown.
        let compared = match self.mask() {
            Mask::Hidden => lists::Compared::by_place(a, b, &mut self.budget.lines),
            _ => lists::compare(name.unwrap_or_default(), a, b, &mut self.budget.lines),
        };
        if compared.is_reordered && self.has_room() {
            let label = |nodes: &[Node]| -> Vec<Json> {
                let items = nodes.iter();
                items
                    .map(|node| compared.label(node, self.mask()))
                    .collect()
            };
            let hidden = self.mask() == Mask::Hidden;
            self.fields.push(Field {
                path: FieldPath(self.path.clone()),
                change: FieldChange::Reordered,
                old: label(a).into(),
                new: label(b).into(),
                hidden,
                old_line: old.line,
                new_line: new.line,
            });
        }
        for Pair { step, old, new } in compared.pairs {
            self.step(step.shortened(), old, new);
        }
    }

    fn step(&mut self, step: Step, old: Option<&Node>, new: Option<&Node>) {
        let size = step.size();
        self.size = self.size.saturating_add(size);
        self.path.push(step);
        match (old, new) {
            (Some(a), Some(b)) => self.values(a, b),
            (None, Some(_)) => self.note(FieldChange::Added, None, new),
            (Some(_), None) => self.note(FieldChange::Removed, old, None),
            (None, None) => {}
        }
        self.path.pop();
        self.size = self.size.saturating_sub(size);
    }

    /// Makes room for one more field, or counts it.
    fn has_room(&mut self) -> bool {
        let has_room = self.budget.fields.take(self.size);
        if !has_room {
            self.budget.more_fields = self.budget.more_fields.saturating_add(1);
        }
        has_room
    }

    fn note(&mut self, change: FieldChange, old: Option<&Node>, new: Option<&Node>) {
        if !self.has_room() {
            return;
        }
        let mask = self.mask();
        let json = |node: Option<&Node>| node.map_or(Json::Null, |node| mask.json(node));
        let line = |node: Option<&Node>| node.map_or(0, |node| node.line);
        let hides = |node: Option<&Node>| node.is_some_and(|node| hides(mask, node));
        self.fields.push(Field {
            path: FieldPath(self.path.clone()),
            change,
            old: json(old),
            new: json(new),
            hidden: hides(old) || hides(new),
            old_line: line(old),
            new_line: line(new),
        });
    }
}

/// Tells whether something in a value is hidden.
fn hides(mask: Mask, node: &Node) -> bool {
    match &node.value {
        Value::Mapping(entries) => entries
            .iter()
            .any(|(key, value)| hides(mask.below(&key.text), value)),
        Value::Sequence(items) => items.iter().any(|item| hides(mask, item)),
        _ => mask.hides(node),
    }
}

fn sorted(node: &Node) -> Vec<(&str, &Node)> {
    let mut members: Vec<_> = members(node).collect();
    members.sort_by_key(|(key, _)| *key);
    members
}
