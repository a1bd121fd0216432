//! Fields that a schema does not have: an API server drops them without a word to whoever does not listen.

use crate::yaml::{Node, Value};

use super::{Additional, Budget, MISMATCHES_MAX, Mismatch, Schema, Step, Type, Wrong, path_text};

/// Finds the fields of an object that its schema does not have; of fields in them nothing is said.
pub(super) fn find(schema: &Schema, object: &Node, budget: &mut Budget, found: &mut Vec<Mismatch>) {
    let mut walk = Walk {
        budget,
        found,
        path: Vec::new(),
    };
    walk.value(schema, object, true);
}

struct Walk<'a, 'n> {
    budget: &'a mut Budget,
    found: &'a mut Vec<Mismatch>,
    path: Vec<Step<'n>>,
}

impl<'n> Walk<'_, 'n> {
    fn value(&mut self, schema: &Schema, node: &'n Node, is_object: bool) {
        if !self.budget.charge(1) {
            return;
        }
        match &node.value {
            Value::Mapping(entries) if matches!(schema.kind, Some(Type::Object) | None) => {
                for (key, value) in entries {
                    // Every object has these, whatever its schema says.
                    if is_object && matches!(&*key.text, "apiVersion" | "kind" | "metadata") {
                        continue;
                    }
                    self.path.push(Step::Key(&key.text));
                    if let Some(property) = schema.properties.get(&key.text) {
                        self.value(property, value, property.embedded);
                    } else if let Some(each) = schema.each() {
                        self.value(each, value, each.embedded);
                    } else if matches!(schema.additional, Additional::Unsaid)
                        && !schema.preserve_unknown
                        && self.budget.charge(1)
                        && self.found.len() < MISMATCHES_MAX
                    {
                        self.found.push(Mismatch {
                            path: path_text(&self.path),
                            line: key.line,
                            what: Wrong::Unknown,
                        });
                    }
                    self.path.pop();
                }
            }
            Value::Sequence(items) => {
                if let Some(schema) = &schema.items {
                    for (index, item) in items.iter().enumerate() {
                        self.path.push(Step::Index(index));
                        self.value(schema, item, schema.embedded);
                        self.path.pop();
                    }
                }
            }
            _ => {}
        }
    }
}
