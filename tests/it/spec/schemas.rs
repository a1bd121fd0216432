//! The JSON Schemas in `spec/schema/`, and documents run through them.

use std::collections::BTreeMap;

use boon::{Compiler, SchemaIndex, Schemas};
use manifest_bundle::yaml::{Node, Value as Yaml};
use serde_json::{Map, Value};

/// All schemas, compiled; each is known by its file's name without `.schema.json`.
pub(super) struct All {
    compiled: Schemas,
    by_name: BTreeMap<String, SchemaIndex>,
    words: BTreeMap<String, SchemaIndex>,
    /// The text of each pattern in `words.schema.json`.
    patterns: BTreeMap<String, String>,
}

impl All {
    pub(super) fn load() -> Self {
        let mut compiled = Schemas::new();
        let mut compiler = Compiler::new();
        compiler.enable_format_assertions();
        let mut by_name = BTreeMap::new();
        for entry in std::fs::read_dir(super::directory().join("schema")).unwrap() {
            let path = entry.unwrap().path();
            let file = path.file_name().unwrap().to_str().unwrap();
            let name = file
                .strip_suffix(".schema.json")
                .unwrap_or_else(|| panic!("spec/schema/{file} is not called NAME.schema.json"));
            // The compiler checks each document against the meta-schema that it names.
            let index = compiler
                .compile(path.to_str().unwrap(), &mut compiled)
                .unwrap_or_else(|e| panic!("{file}: {e:#}"));
            by_name.insert(name.to_owned(), index);
        }
        let words_file = super::directory().join("schema/words.schema.json");
        let text = std::fs::read_to_string(&words_file).unwrap();
        let text: Value = serde_json::from_str(&text).unwrap();
        let (mut words, mut patterns) = (BTreeMap::new(), BTreeMap::new());
        for (word, schema) in text["$defs"].as_object().unwrap() {
            let place = format!("{}#/$defs/{word}", words_file.display());
            let index = compiler.compile(&place, &mut compiled).unwrap();
            words.insert(word.clone(), index);
            patterns.insert(word.clone(), schema["pattern"].as_str().unwrap().to_owned());
        }
        Self {
            compiled,
            by_name,
            words,
            patterns,
        }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// Tells whether a text is a word in the schema's view.
    pub(super) fn word(&self, name: &str, text: &str) -> bool {
        let text = Value::from(text);
        self.compiled.validate(&text, self.words[name]).is_ok()
    }

    /// Returns the pattern of a word.
    pub(super) fn pattern(&self, name: &str) -> &str {
        &self.patterns[name]
    }

    /// Runs a document through a schema; the error says where it fails.
    pub(super) fn check(&self, name: &str, document: &Value) -> Result<(), String> {
        let index = self.by_name.get(name).ok_or("there is no such schema")?;
        self.compiled
            .validate(document, *index)
            .map_err(|error| error.to_string())
    }
}

/// Turns YAML into JSON as Kubernetes sees it.
pub(super) fn json(node: &Node) -> Value {
    match &node.value {
        Yaml::Null => Value::Null,
        Yaml::Bool(value) => Value::from(*value),
        Yaml::Int(value) => Value::from(*value),
        Yaml::UInt(value) => Value::from(*value),
        Yaml::Float(value) => Value::from(*value),
        Yaml::String(value) => Value::from(value.as_str()),
        Yaml::Sequence(items) => items.iter().map(json).collect(),
        Yaml::Mapping(entries) => {
            let members = entries
                .iter()
                .map(|(key, value)| (key.text.to_string(), json(value)));
            Value::Object(members.collect::<Map<_, _>>())
        }
    }
}
