//! Schemas from the text of a definition. What is not understood is passed over: whether a definition is right is not asked here.

use crate::yaml::{Node, Value};

use super::defaults::size;
use super::formats::Format;
use super::pattern::Pattern;
use super::{Additional, Bound, List, Range, Rules, Schema, Type};

impl Schema {
    /// Reads a schema; as deep as the document that it stands in.
    pub fn read(node: &Node) -> Self {
        let mut schema = Self {
            kind: node.get("type").and_then(Node::as_str).and_then(kind),
            nullable: is_true(node, "nullable"),
            int_or_string: is_true(node, "x-kubernetes-int-or-string"),
            preserve_unknown: is_true(node, "x-kubernetes-preserve-unknown-fields"),
            embedded: is_true(node, "x-kubernetes-embedded-resource"),
            additional: additional(node.get("additionalProperties")),
            items: node.get("items").map(|items| Box::new(Self::read(items))),
            required: texts(node.get("required")),
            default: node.get("default").cloned(),
            ..Self::default()
        };
        let properties = node.get("properties").and_then(Node::as_mapping);
        for (key, value) in properties.unwrap_or_default() {
            schema
                .properties
                .insert(key.text.clone(), Self::read(value));
        }
        let properties = schema.properties.iter();
        schema.filled = properties
            .filter(|(_, property)| property.default.is_some())
            .map(|(name, _)| name.clone())
            .collect();
        // Most of the fields have none of these, and a definition has thousands of fields.
        let has_rules = node
            .as_mapping()
            .unwrap_or_default()
            .iter()
            .any(|(key, _)| RULES.contains(&&*key.text));
        if has_rules {
            schema.rules = Some(Box::new(Rules::read(node)));
        }
        schema
    }

    /// Counts this schema and all in it, with the names and values that it holds.
    pub fn nodes(&self) -> u64 {
        let own = self.properties.values().chain(self.items.as_deref());
        let rules = self.rules.iter().flat_map(|rules| {
            let lists = rules
                .all_of
                .iter()
                .chain(&rules.any_of)
                .chain(&rules.one_of);
            lists.chain(&rules.not)
        });
        let values = self.rules.iter().flat_map(|rules| &rules.values);
        let values = values.chain(&self.default).map(size);
        own.chain(self.each())
            .chain(rules)
            .map(Self::nodes)
            .chain(values)
            .fold(self.required.len() as u64, u64::saturating_add)
            .saturating_add(1)
    }
}

/// The keys that make [`Rules`].
const RULES: &[&str] = &[
    "allOf",
    "anyOf",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "x-kubernetes-list-type",
];

impl Rules {
    fn read(node: &Node) -> Self {
        let schemas = |key| {
            let list = node
                .get(key)
                .and_then(Node::as_sequence)
                .unwrap_or_default();
            list.iter().map(Schema::read).collect()
        };
        let bound = |key, exclusive| {
            Some(Bound {
                value: node.get(key)?.as_number()?,
                is_exclusive: is_true(node, exclusive),
            })
        };
        let range = |least, most| Range {
            least: count(node.get(least)),
            most: count(node.get(most)),
        };
        let values = node.get("enum").and_then(Node::as_sequence);
        let text = |key| node.get(key).and_then(Node::as_str);
        Self {
            values: values.unwrap_or_default().to_vec(),
            pattern: text("pattern").map(Pattern::new),
            format: text("format").and_then(Format::of),
            minimum: bound("minimum", "exclusiveMinimum"),
            maximum: bound("maximum", "exclusiveMaximum"),
            multiple_of: node.get("multipleOf").and_then(Node::as_number),
            length: range("minLength", "maxLength"),
            items: range("minItems", "maxItems"),
            properties: range("minProperties", "maxProperties"),
            list: match text("x-kubernetes-list-type") {
                Some("set") => List::Set,
                Some("map") => List::Map(texts(node.get("x-kubernetes-list-map-keys"))),
                _ => List::Atomic,
            },
            all_of: schemas("allOf"),
            any_of: schemas("anyOf"),
            one_of: schemas("oneOf"),
            not: node.get("not").map(Schema::read),
        }
    }
}

fn kind(text: &str) -> Option<Type> {
    Some(match text {
        "object" => Type::Object,
        "array" => Type::Array,
        "string" => Type::String,
        "integer" => Type::Integer,
        "number" => Type::Number,
        "boolean" => Type::Boolean,
        _ => return None,
    })
}

fn additional(node: Option<&Node>) -> Additional {
    match node.map(|node| (node, &node.value)) {
        Some((_, Value::Bool(true))) => Additional::Any,
        Some((_, Value::Bool(false))) => Additional::Forbidden,
        Some((node, Value::Mapping(_))) => Additional::Each(Box::new(Schema::read(node))),
        _ => Additional::Unsaid,
    }
}

fn is_true(node: &Node, key: &str) -> bool {
    matches!(
        node.get(key).map(|node| &node.value),
        Some(Value::Bool(true))
    )
}

fn texts(node: Option<&Node>) -> Vec<Box<str>> {
    let items = node.and_then(Node::as_sequence).unwrap_or_default();
    items
        .iter()
        .filter_map(Node::as_str)
        .map(Into::into)
        .collect()
}

fn count(node: Option<&Node>) -> Option<u64> {
    match node?.value {
        Value::Int(n) => u64::try_from(n).ok(),
        Value::UInt(n) => Some(n),
        _ => None,
    }
}
