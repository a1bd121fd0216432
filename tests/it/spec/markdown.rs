//! As much Markdown as the specification uses: headings, fenced blocks, tables and prose, each with its line.

use std::path::Path;

/// One page of the specification, taken apart.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// The file's name, such as `bundle.md`.
    pub(super) name: String,
    pub(super) blocks: Vec<Block>,
    pub(super) tables: Vec<Table>,
    /// What is neither block nor table nor blank, headings included.
    pub(super) prose: Vec<(usize, String)>,
}

/// A fenced block.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) line: usize,
    /// The words after the three backticks: language, executor, then what the executor is told.
    pub(super) info: Vec<String>,
    pub(super) text: String,
}

/// A table; a cell is its text without the spaces around it.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) line: usize,
    pub(super) header: Vec<String>,
    pub(super) rows: Vec<Row>,
}

#[derive(Debug)]
pub(super) struct Row {
    pub(super) line: usize,
    pub(super) cells: Vec<String>,
}

impl Page {
    pub(super) fn read(path: &Path) -> Self {
        let name = path.file_name().unwrap().to_str().unwrap();
        Self::parse(name, &std::fs::read_to_string(path).unwrap())
    }

    pub(super) fn parse(name: &str, text: &str) -> Self {
        let mut page = Self {
            name: name.to_owned(),
            ..Self::default()
        };
        let mut lines = text.lines().enumerate().map(|(i, line)| (i + 1, line));
        let mut table: Option<Table> = None;
        while let Some((number, line)) = lines.next() {
            if let Some(cells) = cells(line) {
                match &mut table {
                    None => {
                        table = Some(Table {
                            line: number,
                            header: cells,
                            rows: Vec::new(),
                        });
                    }
                    Some(_) if cells.iter().all(|cell| cell.chars().all(|c| c == '-')) => {}
                    Some(table) => {
                        assert_eq!(
                            cells.len(),
                            table.header.len(),
                            "spec/{name}:{number}: a row has the cells of its header"
                        );
                        table.rows.push(Row {
                            line: number,
                            cells,
                        });
                    }
                }
                continue;
            }
            page.tables.extend(table.take());
            if let Some(info) = line.strip_prefix("```") {
                let text: Vec<&str> = lines
                    .by_ref()
                    .map(|(_, line)| line)
                    .take_while(|line| *line != "```")
                    .collect();
                page.blocks.push(Block {
                    line: number,
                    info: info.split_whitespace().map(str::to_owned).collect(),
                    text: text.join("\n") + "\n",
                });
            } else if !line.trim().is_empty() {
                page.prose.push((number, line.to_owned()));
            }
        }
        page.tables.extend(table.take());
        page
    }
}

impl Block {
    /// Returns the value of `key=value` in the info string.
    pub(super) fn value(&self, key: &str) -> Option<&str> {
        let mut words = self.info.iter();
        words.find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    /// Tells whether a word stands in the info string.
    pub(super) fn has(&self, word: &str) -> bool {
        self.info.iter().any(|w| w == word)
    }
}

/// Splits a table's line; `\|` is a bar in a cell.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.strip_prefix('|')?.strip_suffix('|')?;
    let mut cells = vec![String::new()];
    let mut escaped = false;
    for c in inner.chars() {
        let cell = cells.last_mut().unwrap();
        match c {
            '|' if escaped => {
                cell.pop();
                cell.push('|');
            }
            '|' => cells.push(String::new()),
            _ => cell.push(c),
        }
        escaped = c == '\\';
    }
    Some(cells.iter().map(|cell| cell.trim().to_owned()).collect())
}

/// Returns what a cell holds as code: it is one code span and nothing else.
pub(super) fn code(cell: &str) -> Result<&str, String> {
    cell.strip_prefix('`')
        .and_then(|rest| rest.strip_suffix('`'))
        .filter(|text| !text.contains('`'))
        .ok_or_else(|| format!("the cell {cell:?} is not one code span"))
}

#[test]
fn a_page_is_taken_apart() {
    let page = Page::parse(
        "x.md",
        "# X\n\nOne line.\n\n| A | B |\n|---|---|\n| `a\\|b` | |\n\n```yaml annotations valid a=b\nk: v\n```\n",
    );
    assert_eq!(page.prose.len(), 2);
    assert_eq!(page.tables[0].rows[0].cells, ["`a|b`", ""]);
    assert_eq!(code(&page.tables[0].rows[0].cells[0]), Ok("a|b"));
    assert!(code("`a` and `b`").is_err());
    let block = &page.blocks[0];
    assert_eq!((block.line, block.text.as_str()), (9, "k: v\n"));
    assert!(block.has("valid") && block.value("a") == Some("b"));
}
