//! `offkit graph`: which images need which.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use layout::backends::svg::SVGWriter;
use layout::gv::{DotParser, GraphBuilder};
use offkit_host::files;
use offkit_object::{Location, Symbols, describe_symbol};
use offkit_runtime::{ImageId, ImageRegistry};
use serde_json::{Value, json};

use super::Source;
use super::kernels::register;
use crate::failure::Failure;
use crate::terminal::{Output, Terminal, escape};

/// The number of the form of its JSON.
const SCHEMA: u32 = 1;

const EXAMPLES: &str = "\
Examples:
  offkit graph app.syclbin library.syclbin
  offkit graph app libkernels.so -o deps.svg
  offkit graph --json app libkernels.so | jq -r .closure[]";

/// Larger graphs are a matter for Graphviz: placing takes the square of their size, and nobody sees anything.
const MOST_DRAWN: usize = 500;
/// The symbols that an arrow names.
const MOST_NAMED: usize = 3;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Graph {
    /// Files, or locations in them as `offkit ls` prints them; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Draw into a file: SVG by its name `*.svg`, for Graphviz otherwise
    #[arg(short, long, value_name = "FILE", conflicts_with = "json")]
    output: Option<PathBuf>,
    /// Write one JSON object a line, one line an image
    #[arg(long)]
    json: bool,
}

/// An image, and what it needs.
struct Node {
    id: ImageId,
    location: Location,
    code: String,
    symbols: Symbols,
    needs: Vec<Need>,
}

/// An imported symbol, and the image that supplies it, or why none does.
struct Need {
    symbol: String,
    exporter: Result<ImageId, String>,
}

pub(crate) fn run(options: &Graph, terminal: Terminal) -> Result<(), Failure> {
    let registry = ImageRegistry::new();
    for file in &options.files {
        register(&registry, Source::open(file)?, terminal)?;
    }
    let nodes: Vec<Node> = registry
        .images()
        .into_iter()
        .filter_map(|id| Node::of(&registry, id))
        .collect();
    if let Some(path) = &options.output {
        let drawn = match path.extension().is_some_and(|extension| extension == "svg") {
            true => svg(&nodes)?,
            false => dot(&nodes),
        };
        return files::replace(path, &[drawn.as_bytes()]).map_err(Failure::input);
    }
    let mut output = terminal.output();
    for node in &nodes {
        match options.json {
            true => output.json(SCHEMA, &node.json(&nodes))?,
            false => node.print(&nodes, &mut output)?,
        }
    }
    output.finish()
}

impl Node {
    /// `None` for an image that is gone.
    fn of(registry: &ImageRegistry, id: ImageId) -> Option<Self> {
        let needs = registry
            .dependencies(id)
            .into_iter()
            .map(|(symbol, exporter)| Need {
                symbol,
                exporter: exporter.map_err(|error| error.to_string()),
            });
        Some(Self {
            id,
            location: registry.location(id)?,
            code: super::code(registry, id),
            symbols: registry.symbols(id)?,
            needs: needs.collect(),
        })
    }

    /// The images that this one needs, and those that these need: each once, its own the first.
    fn closure<'a>(&'a self, nodes: &'a [Self]) -> Vec<&'a Self> {
        // Images may need each other, so that a walk without this set would not end.
        let mut known = HashSet::from([self.id]);
        let mut all = vec![self];
        let mut next = 0;
        while let Some(node) = all.get(next).copied() {
            next += 1;
            for exporter in node.needs.iter().filter_map(|need| need.exporter.as_ref().ok()) {
                if known.insert(*exporter) {
                    all.extend(find(nodes, *exporter));
                }
            }
        }
        all
    }

    fn json(&self, nodes: &[Self]) -> Value {
        let places = |nodes: Vec<&Self>| -> Vec<String> {
            nodes.into_iter().map(|node| node.location.to_string()).collect()
        };
        let missing = self.needs.iter().filter_map(|need| {
            let reason = need.exporter.as_ref().err()?;
            Some(json!({"symbol": need.symbol, "reason": reason}))
        });
        json!({
            "location": self.location.to_string(),
            "kernels": self.symbols.kernels,
            "imports": self.symbols.imports,
            "exports": self.symbols.exports,
            "closure": places(self.closure(nodes)),
            "missing": missing.collect::<Vec<_>>(),
        })
    }

    fn print(&self, nodes: &[Self], output: &mut Output) -> Result<(), Failure> {
        let (name, faint) = (output.styles().name, output.styles().faint);
        output.line(format_args!(
            "{name}{}{name:#} ({})",
            escape(&self.location.to_string()),
            escape(&self.code)
        ))?;
        for need in &self.needs {
            let symbol = describe_symbol(&need.symbol);
            let symbol = escape(&symbol);
            match &need.exporter {
                Ok(exporter) => {
                    let exporter = find(nodes, *exporter).map(|node| node.location.to_string());
                    let exporter = exporter.unwrap_or_default();
                    output.line(format_args!("  {symbol}: {name}{}{name:#}", escape(&exporter)))?;
                }
                Err(reason) => {
                    output.line(format_args!(
                        "  {symbol}: missing {faint}({}){faint:#}",
                        escape(reason)
                    ))?;
                }
            }
        }
        Ok(())
    }

    /// The arrows that start here: where to, and for which symbols.
    fn arrows(&self) -> BTreeMap<ImageId, Vec<&str>> {
        let mut arrows: BTreeMap<_, Vec<&str>> = BTreeMap::new();
        for need in &self.needs {
            if let Ok(exporter) = &need.exporter {
                arrows.entry(*exporter).or_default().push(&need.symbol);
            }
        }
        arrows
    }
}

fn find(nodes: &[Node], id: ImageId) -> Option<&Node> {
    // The registry gives images by their numbers, and leaving some out keeps the order.
    let place = nodes.binary_search_by_key(&id, |node| node.id).ok()?;
    nodes.get(place)
}

/// The graph in Graphviz' language: images as boxes, missing symbols in red.
fn dot(nodes: &[Node]) -> String {
    let mut text = String::from("digraph offkit {\n  rankdir=LR;\n  node [shape=box];\n");
    // A string takes everything.
    let mut line = |arguments: std::fmt::Arguments<'_>| _ = writeln!(text, "  {arguments}");
    let mut missing = 0;
    let number = |id: ImageId| {
        nodes
            .binary_search_by_key(&id, |node| node.id)
            .unwrap_or_default()
    };
    for (own, node) in nodes.iter().enumerate() {
        let mut label = vec![node.location.to_string(), node.code.clone()];
        if !node.symbols.kernels.is_empty() {
            label.push(format!(
                "kernels: {}",
                listed(node.symbols.kernels.iter().map(String::as_str))
            ));
        }
        line(format_args!("i{own} [label={}];", quoted(&label.join("\n"))));
        for (exporter, symbols) in node.arrows() {
            let label = quoted(&listed(symbols.into_iter()));
            line(format_args!("i{own} -> i{} [label={label}];", number(exporter)));
        }
        for need in node.needs.iter().filter(|need| need.exporter.is_err()) {
            let label = quoted(&format!("{}\nmissing", describe_symbol(&need.symbol)));
            line(format_args!("m{missing} [label={label}, color=\"red\"];"));
            line(format_args!("i{own} -> m{missing} [color=\"red\"];"));
            missing += 1;
        }
    }
    text + "}\n"
}

fn svg(nodes: &[Node]) -> Result<String, Failure> {
    if nodes.len() > MOST_DRAWN {
        return Err(Failure::input(format!(
            "{} images are too many for a picture; the most is {MOST_DRAWN}",
            nodes.len()
        ))
        .hint("draw some of them, or write `-o deps.dot` for Graphviz"));
    }
    // Of the text that Graphviz would get, so that both pictures say the same.
    let text = dot(nodes);
    let graph = DotParser::new(&text).process().map_err(Failure::input)?;
    let mut builder = GraphBuilder::new();
    builder.visit_graph(&graph);
    let mut writer = SVGWriter::new();
    builder.get().do_it(false, false, false, &mut writer);
    Ok(writer.finalize())
}

/// Names as an arrow or a box shows them: the first few.
fn listed<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = names.len().saturating_sub(MOST_NAMED);
    let names: Vec<_> = names
        .take(MOST_NAMED)
        .map(|name| super::shown_name(name, false))
        .collect();
    match more {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// A text in quotation marks, its lines as Graphviz writes them.
fn quoted(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(escape).collect();
    // Backslashes first: those that are put before quotes are not to be doubled.
    let text = lines.join("\n").replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", text.replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_and_counted() {
        assert_eq!(quoted("a \"b\"\nc\\d\u{1b}"), r#""a \"b\"\nc\\d\\u{1b}""#);
        assert_eq!(
            listed(["a", "_Z1bv", "c", "d", "e"].into_iter()),
            "a, b(), c and 2 more"
        );
    }
}
