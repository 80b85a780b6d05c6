//! Plans as text for people.

use std::fmt::{self, Display, Formatter};

use offkit_kernel::ir::{BlockId, Module, Operand, Terminator, ValueId};

use crate::{Control, Cut, Plan, Region, Shape, Variant};

/// Where instructions begin, unless shapes take more.
const LEAST_COLUMN: usize = 12;

/// Shapes that take more don't move the instructions of the others.
const MOST_COLUMN: usize = 32;

impl Display for Shape {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Uniform => formatter.write_str("uniform"),
            Shape::Strided(step) => write!(formatter, "strided {step}"),
            Shape::Varying => formatter.write_str("varying"),
        }
    }
}

impl Display for Variant {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let (rows, full) = match (self.rows, self.full) {
            (true, true) => ("along the first dimension", "all of them full"),
            (true, false) => ("along the first dimension", "some of them not full"),
            (false, true) => ("across rows", "all of them full"),
            (false, false) => ("across rows", "some of them not full"),
        };
        match self.width {
            1 => formatter.write_str("scalar code, one work-item after the other")?,
            width => write!(formatter, "vectors of {width} work-items {rows}, {full}")?,
        }
        formatter.write_str(match self.narrow_ids {
            true => "; ids have 31 bits",
            false => "; ids have 64 bits",
        })?;
        formatter.write_str(match self.cut {
            Cut::AsSeen => "",
            Cut::Single => "; the kernel sees groups of one work-item",
            Cut::Merged => "; the kernel sees smaller groups",
        })
    }
}

/// A plan as text: [`Plan::listing`].
struct Listing<'p> {
    plan: &'p Plan,
    lines: Vec<Vec<String>>,
    column: usize,
}

impl Plan {
    /// The plan of a kernel of this module as text: its regions, their blocks with their masks, and in front of each
    /// instruction the shape of what it gives, of each word where they differ.
    pub fn listing<'p>(&'p self, module: &Module) -> impl Display + 'p {
        let values = (0..self.function.values.len() as u32).map(ValueId);
        let sizes = values.map(|value| self.shape_text(value).len());
        let column = sizes.filter(|size| *size <= MOST_COLUMN).max().unwrap_or(0);
        Listing {
            plan: self,
            lines: module.lines_of_blocks(&self.function),
            column: column.max(LEAST_COLUMN),
        }
    }

    /// The shape of a value; one for each of its words where they differ.
    pub fn shape_text(&self, value: ValueId) -> String {
        let mut shapes = self.shapes.of(value).peekable();
        let first = shapes.peek().copied();
        let shapes: Vec<Shape> = shapes.collect();
        match first {
            None => String::new(),
            Some(first) if shapes.iter().all(|shape| *shape == first) => first.to_string(),
            Some(_) => shapes.iter().map(Shape::to_string).collect::<Vec<_>>().join(", "),
        }
    }
}

impl Display for Listing<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}", self.plan.variant)?;
        if self.plan.reads_rows {
            writeln!(
                formatter,
                "each work-item reads rows of its own: better scalar code"
            )?;
        }
        for index in 0..self.plan.function.parameters.len() as u32 {
            self.line(
                formatter,
                Some(ValueId(index)),
                &format!("parameter %{index}"),
                "",
            )?;
        }
        for variable in &self.plan.function.variables {
            let text = format!("variable %{}", variable.address.0);
            let note = match self.plan.interleaved.part(Operand::Value(variable.address)) {
                Some(part) => format!("  // interleaved, {part} bytes of each work-item"),
                None => String::new(),
            };
            self.line(formatter, Some(variable.address), &text, &note)?;
        }
        let mut shown = vec![false; self.plan.function.blocks.len()];
        for (number, region) in self.plan.regions.iter().enumerate() {
            self.region(formatter, number, region, &mut shown)?;
        }
        Ok(())
    }
}

impl Listing<'_> {
    fn region(
        &self,
        formatter: &mut Formatter<'_>,
        number: usize,
        region: &Region,
        shown: &mut [bool],
    ) -> fmt::Result {
        let blocks = self.plan.function.blocks.iter();
        let barriers: Vec<BlockId> = (0..blocks.len() as u32)
            .map(BlockId)
            .filter(|block| self.plan.behind(*block) == Some(number))
            .collect();
        let from = match (number, barriers.is_empty()) {
            (0, true) => "from the start".to_owned(),
            (0, false) => format!("from the start, and behind the barrier of {}", names(&barriers)),
            _ => format!("behind the barrier of {}", names(&barriers)),
        };
        let kind = match region.is_plain {
            true => "work-items stay together",
            false => "work-items part",
        };
        writeln!(formatter, "\nregion {number} {from}: {kind}")?;
        for (title, values) in [
            ("reads from others", &region.reads),
            ("leaves to others", &region.writes),
        ] {
            if !values.is_empty() {
                let values: Vec<String> = values.iter().map(|value| format!("%{}", value.0)).collect();
                writeln!(formatter, "  {title}: {}", values.join(" "))?;
            }
        }
        for found in &region.loops {
            let blocks = &region.order[found.range.0..=found.range.1];
            let how = match found.is_divergent {
                true => "one by one",
                false => "together",
            };
            let (header, blocks) = (name(found.header), names(blocks));
            writeln!(
                formatter,
                "  loop at {header} of {blocks}: work-items leave it {how}"
            )?;
        }
        for (index, block) in region.order.iter().enumerate() {
            let control = region.control.get(block.0 as usize).copied().flatten();
            let how = match (index, control) {
                _ if region.is_plain => String::new(),
                (0, _) => ": all work-items".to_owned(),
                (_, Some(control)) => control_text(*block, control),
                (_, None) => String::new(),
            };
            // A block behind several barriers is in several regions, and is the same in each.
            let again = std::mem::replace(&mut shown[block.0 as usize], true);
            let above = if again { " (as above)" } else { "" };
            writeln!(formatter, "  block {}{how}{above}", name(*block))?;
            if !again {
                self.block(formatter, *block)?;
            }
        }
        Ok(())
    }

    fn block(&self, formatter: &mut Formatter<'_>, block: BlockId) -> fmt::Result {
        let code = &self.plan.function.blocks[block.0 as usize];
        let phis = code.phis.iter().map(|phi| Some(phi.result));
        let instructions = code.instructions.iter().map(|instruction| instruction.result);
        // The last line is the terminator's, which gives nothing.
        let results = phis.chain(instructions).chain(std::iter::repeat(None));
        let lines = &self.lines[block.0 as usize];
        for (index, (line, result)) in lines.iter().zip(results).enumerate() {
            let is_end = index + 1 == lines.len();
            let parts = is_end && self.plan.shapes.parts(&code.terminator);
            let ends =
                is_end && matches!(code.terminator, Terminator::Jump(_)) && self.plan.behind(block).is_some();
            let note = match (parts, ends) {
                (true, _) => "  // work-items part",
                (_, true) => "  // to the next region",
                _ => "",
            };
            self.line(formatter, result, line, note)?;
        }
        Ok(())
    }

    fn line(
        &self,
        formatter: &mut Formatter<'_>,
        value: Option<ValueId>,
        text: &str,
        note: &str,
    ) -> fmt::Result {
        let shape = value.map_or_else(String::new, |value| self.plan.shape_text(value));
        writeln!(formatter, "    {shape:width$}  {text}{note}", width = self.column)
    }
}

fn control_text(block: BlockId, control: Control) -> String {
    let mask = match control.mask == block {
        true => "a mask of its own".to_owned(),
        false => format!("the mask of {}", name(control.mask)),
    };
    let guard = match control.guard == block {
        true => "skipped if nobody comes".to_owned(),
        false => format!("executed when {} is", name(control.guard)),
    };
    format!(": {mask}, {guard}")
}

fn name(block: BlockId) -> String {
    format!("^{}", block.0)
}

fn names(blocks: &[BlockId]) -> String {
    blocks
        .iter()
        .map(|block| name(*block))
        .collect::<Vec<_>>()
        .join(" ")
}
