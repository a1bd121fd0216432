//! What a document may cost: nodes, depth, and what its aliases copy.
//!
//! An alias is carried out by copying the node of its anchor, so every copy is paid for here.

use crate::limits::{Ceiling, Limits};

use super::fault::FaultKind;
use super::{Node, Value};

/// What a document may still cost.
#[derive(Debug)]
pub(super) struct Budget {
    nodes: u64,
    depth: u64,
    /// Bytes of text that may be copied for anchors and aliases.
    bytes: u64,
    /// Nodes made so far, keys and repetitions counted.
    made: u64,
    /// Those of them that aliases repeated.
    replayed: u64,
    /// Nodes kept for aliases.
    kept: u64,
}

impl Budget {
    pub(super) fn new(limits: &Limits, depth: u64) -> Self {
        Self {
            nodes: limits[Ceiling::YamlNodes],
            depth,
            bytes: limits[Ceiling::Yaml],
            made: 0,
            replayed: 0,
            kept: 0,
        }
    }

    pub(super) fn depth(&self) -> u64 {
        self.depth
    }

    /// Counts a node or key.
    pub(super) fn make(&mut self) -> Result<(), FaultKind> {
        self.made += 1;
        if self.made > self.nodes {
            return Err(FaultKind::TooManyNodes { limit: self.nodes });
        }
        Ok(())
    }

    pub(super) fn check_depth(&self, depth: u64) -> Result<(), FaultKind> {
        if depth > self.depth {
            return Err(FaultKind::TooDeep { limit: self.depth });
        }
        Ok(())
    }

    /// Copies a node for an alias, counting all of it.
    pub(super) fn replay(&mut self, node: &Node, depth: u64) -> Result<Node, FaultKind> {
        self.copy(node, depth, Self::make_again)
    }

    /// Copies a node for its anchor; the copies may be as many as the nodes.
    pub(super) fn keep(&mut self, node: &Node) -> Result<Node, FaultKind> {
        self.copy(node, 0, Self::make_to_keep)
    }

    fn copy(
        &mut self,
        node: &Node,
        depth: u64,
        count: fn(&mut Self) -> Result<(), FaultKind>,
    ) -> Result<Node, FaultKind> {
        count(self)?;
        let value = match &node.value {
            Value::Sequence(items) => {
                self.check_depth(depth)?;
                let mut copies = Vec::with_capacity(items.len());
                for item in items {
                    copies.push(self.copy(item, depth + 1, count)?);
                }
                Value::Sequence(copies)
            }
            Value::Mapping(entries) => {
                self.check_depth(depth)?;
                let mut copies = Vec::with_capacity(entries.len());
                for (key, value) in entries {
                    count(self)?;
                    self.spend(key.text.len())?;
                    copies.push((key.clone(), self.copy(value, depth + 1, count)?));
                }
                Value::Mapping(copies)
            }
            Value::String(text) => {
                self.spend(text.len())?;
                Value::String(text.clone())
            }
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::UInt(_) | Value::Float(_) => {
                node.value.clone()
            }
        };
        self.spend(node.plain.as_ref().map_or(0, |text| text.len()))?;
        Ok(Node {
            value,
            plain: node.plain.clone(),
            ..*node
        })
    }

    /// Counts a node that an alias repeats; as in Go, they may not be more than 99 of 100 nodes.
    fn make_again(&mut self) -> Result<(), FaultKind> {
        self.made += 1;
        self.replayed += 1;
        let is_bomb =
            self.replayed > 100 && self.made > 1000 && self.replayed * 100 > self.made * 99;
        if is_bomb || self.made > self.nodes {
            return Err(FaultKind::AliasExpansion);
        }
        Ok(())
    }

    fn make_to_keep(&mut self) -> Result<(), FaultKind> {
        self.kept += 1;
        if self.kept > self.nodes {
            return Err(FaultKind::AliasExpansion);
        }
        Ok(())
    }

    fn spend(&mut self, bytes: usize) -> Result<(), FaultKind> {
        self.bytes = self
            .bytes
            .checked_sub(bytes as u64)
            .ok_or(FaultKind::AliasExpansion)?;
        Ok(())
    }
}
