//! Whole modules as text: a line for each type, constant, variable and instruction.

use std::fmt::{self, Display, Formatter};

use super::super::verify::Place;
use super::{Input, Text, TextError, Writer, field, inline_constants};
use crate::ir::{
    Attributes, Block, BlockId, Constant, ConstantId, FileId, Function, FunctionControl, FunctionId, Global,
    GlobalId, Instruction, Kernel, Line, Merge, Module, Operation, Parameter, Phi, ScopeListId, Terminator,
    Type, TypeId, ValueId, Variable,
};

type Result<T> = std::result::Result<T, TextError>;

/// The first line of every text.
const HEADER: [&str; 2] = ["offkit-kernel", "1"];

/// What a line at the outermost level begins with.
const LINES: [&str; 7] = [
    "type", "file", "variable", "constant", "scopes", "kernel", "function",
];

impl Module {
    fn writer(&self, names_types: bool) -> Writer<'_> {
        Writer {
            module: self,
            text: String::new(),
            names_types,
            inline: inline_constants(&self.types, &self.constants),
        }
    }

    /// The lines of a function of this module, block by block, as they stand in the module's text: one for each phi, one
    /// for each instruction, one for what is known of the branch if anything is, and one for how the block ends.
    pub fn lines_of_blocks(&self, function: &Function) -> Vec<Vec<String>> {
        let mut out = self.writer(true);
        let mut lines_of = |block| {
            out.text.clear();
            out.block(function, block);
            out.text
                .lines()
                // A line begins with its break, so there is nothing before the first one.
                .skip(1)
                .map(|line| line.trim_start().to_owned())
                .collect()
        };
        function.blocks.iter().map(&mut lines_of).collect()
    }
}

impl Display for Module {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let mut out = self.writer(false);
        HEADER.iter().for_each(|word| out.word(word));
        for (index, kind) in (0..).zip(self.types.iter()) {
            out.declaration("type", &TypeId(index), kind);
        }
        // Only behind the types' own lines: whoever reads `i32` adds the type where it isn't there yet, and it would
        // get another number.
        out.names_types = true;
        for (index, file) in (0..).zip(&self.files) {
            out.declaration("file", &FileId(index), file);
        }
        for (index, global) in (0..).zip(&self.globals) {
            out.declaration("variable", &GlobalId(index), global);
        }
        for (index, constant) in (0..).zip(&self.constants) {
            out.declaration("constant", &ConstantId(index), constant);
        }
        for (index, list) in (0..).zip(&self.scope_lists) {
            out.declaration("scopes", &ScopeListId(index), list);
        }
        for kernel in &self.kernels {
            out.line(0);
            out.word("kernel");
            kernel.write(&mut out);
        }
        for (index, function) in (0..).zip(&self.functions) {
            out.function(FunctionId(index), function);
        }
        out.line(0);
        formatter.write_str(&out.text)
    }
}

impl Writer<'_> {
    fn declaration(&mut self, word: &str, id: &impl Text, what: &impl Text) {
        self.line(0);
        self.word(word);
        id.write(self);
        what.write(self);
    }

    fn function(&mut self, id: FunctionId, function: &Function) {
        self.line(0);
        self.declaration("function", &id, &function.name);
        function.result.write(self);
        function.control.write(self);
        for (index, parameter) in (0..).zip(&function.parameters) {
            self.line(1);
            self.word("parameter");
            ValueId(index).write(self);
            parameter.write(self);
        }
        for variable in &function.variables {
            self.line(1);
            self.word("variable");
            self.kind_of(function, variable.address);
            variable.write(self);
        }
        for (index, block) in (0..).zip(&function.blocks) {
            self.line(0);
            self.word("block");
            BlockId(index).write(self);
            self.block(function, block);
        }
    }

    fn kind_of(&mut self, function: &Function, value: ValueId) {
        if let Some(kind) = function.values.get(value.0 as usize) {
            kind.write(self);
        }
    }

    fn result(&mut self, function: &Function, value: ValueId) {
        value.write(self);
        self.kind_of(function, value);
        self.word("=");
    }

    fn block(&mut self, function: &Function, block: &Block) {
        for phi in &block.phis {
            self.line(1);
            self.result(function, phi.result);
            self.word("phi");
            phi.incoming.write(self);
        }
        for instruction in &block.instructions {
            let Instruction {
                result,
                operation,
                operands,
                attributes,
                line,
            } = instruction;
            self.line(1);
            if let Some(result) = result {
                self.result(function, *result);
            }
            operation.write(self);
            self.open('(');
            operands.iter().for_each(|operand| operand.write(self));
            self.close(')');
            attributes.write(self);
            field!(write line, self, "at");
        }
        if let Some(merge) = &block.merge {
            self.line(1);
            self.word("merge");
            merge.write(self);
        }
        self.line(1);
        self.word("end");
        block.terminator.write(self);
        field!(write & block.line, self, "at");
    }
}

impl Module {
    /// Reads the text that a module shows as, or one written by hand. There a scalar needs no line of its
    /// own, neither as a type, unless others are made of it, nor as a constant.
    ///
    /// ```
    /// use offkit_kernel::ir::Module;
    ///
    /// let text = r#"offkit-kernel 1
    /// type #0 void
    /// type #1 scalar i32
    /// type #2 pointer CrossWorkgroup #1
    /// kernel "seven" @0
    /// function @0 "seven" #0
    ///   parameter %0 #2
    /// block ^0
    ///   store (%0 i32:7) align 4
    ///   end return none
    /// "#;
    /// let module = Module::from_text(text)?;
    /// assert_eq!(module.kernels[0].name, "seven");
    ///
    /// let error = Module::from_text(&text.replace("%0 i32:7", "%1 i32:7")).unwrap_err();
    /// assert_eq!(error.to_string(), "line 9, column 1: in function `seven`, block ^0: there is no value %1");
    /// # Ok::<(), offkit_kernel::ir::TextError>(())
    /// ```
    ///
    /// # Errors
    /// [`TextError`], also where the module breaks a rule of the form ([`Module::verify`]).
    pub fn from_text(text: &str) -> Result<Module> {
        let mut input = Input::new(text);
        let mut lines = Lines::default();
        // Blank lines and comments may come first. Of anything else the missing header is the
        // error.
        _ = input.end_line();
        if !HEADER.iter().all(|word| input.take(word)) {
            return Err(input.error(format!("a text begins with `{}`", HEADER.join(" "))));
        }
        input.end_line()?;
        while !input.is_at_end() {
            input.declaration(&mut lines)?;
        }
        let verified = input.module.verify();
        verified.map_err(|problem| TextError {
            line: lines.of(problem.place),
            column: 1,
            what: problem.to_string(),
        })?;
        Ok(input.module)
    }
}

/// The lines that functions and what is in them begin at.
#[derive(Default)]
struct Lines(Vec<(Place, u32)>);

impl Lines {
    /// The line of a place, or of the nearest thing around it.
    fn of(&self, place: Option<Place>) -> u32 {
        let Some(place) = place else { return 1 };
        // They were noted in the order in which places are in the module.
        let after = self.0.partition_point(|(at, _)| *at <= place);
        after
            .checked_sub(1)
            .and_then(|index| self.0.get(index))
            .map_or(1, |(_, line)| *line)
    }
}

impl Input<'_> {
    /// The number of what is declared, which must be the next one.
    fn next<T: Text + PartialEq>(&mut self, id: impl Fn(u32) -> T, count: usize) -> Result<()> {
        let wanted = u32::try_from(count).ok().map(id);
        // Goes past blanks, so that the error tells where the number is.
        self.is_at_end();
        let at = self.error(format!("the next one is number {count}"));
        if wanted == Some(T::read(self)?) {
            Ok(())
        } else {
            Err(at)
        }
    }

    /// A line at the outermost level, and all that belongs to it.
    fn declaration(&mut self, lines: &mut Lines) -> Result<()> {
        let line = self.line();
        let word = self.choose(&LINES, |word, _| Ok(LINES.contains(&word).then_some(word)))?;
        match word {
            "type" => {
                let count = self.module.types.len();
                self.next(TypeId, count)?;
                let kind = Type::read(self)?;
                // Reading `i32` has added that type, under the number that this line is to have.
                if self.module.types.len() > count {
                    return Err(self.error("what a type is made of needs a line of its own, before this one"));
                }
                if self.module.types.push(kind).is_none() {
                    return Err(self.error("the type refers to later types or is too large"));
                }
            }
            "file" => {
                self.next(FileId, self.module.files.len())?;
                let file = String::read(self)?;
                self.module.files.push(file);
            }
            "variable" => {
                self.next(GlobalId, self.module.globals.len())?;
                let global = Global::read(self)?;
                self.module.globals.push(global);
            }
            "constant" => {
                self.next(ConstantId, self.module.constants.len())?;
                let constant = Constant::read(self)?;
                self.push_constant(constant);
            }
            "scopes" => {
                self.next(ScopeListId, self.module.scope_lists.len())?;
                let list = Vec::read(self)?;
                self.module.scope_lists.push(list);
            }
            "kernel" => {
                let kernel = Kernel::read(self)?;
                self.module.kernels.push(kernel);
            }
            _ => {
                let place = Place::function(self.module.functions.len());
                lines.0.push((place, line));
                return self.function(lines, place);
            }
        }
        self.end_line()
    }

    fn push_constant(&mut self, constant: Constant) {
        let next = ConstantId(self.module.constants.len() as u32);
        if let Some(key) = super::values::inline_key(&self.module.types, &constant) {
            self.inline.entry(key).or_insert(next);
        }
        self.module.constants.push(constant);
    }

    fn define(&mut self, value: ValueId, kind: TypeId) -> Result<()> {
        match self.values.insert(value.0, kind) {
            None => Ok(()),
            Some(_) => Err(self.error(format!("%{} is defined twice", value.0))),
        }
    }

    fn function(&mut self, lines: &mut Lines, place: Place) -> Result<()> {
        self.next(FunctionId, self.module.functions.len())?;
        let mut function = Function {
            name: String::read(self)?,
            result: TypeId::read(self)?,
            control: FunctionControl::read(self)?,
            parameters: Vec::new(),
            values: Vec::new(),
            variables: Vec::new(),
            blocks: Vec::new(),
        };
        self.values.clear();
        self.end_line()?;
        while self.take("parameter") {
            self.next(ValueId, function.parameters.len())?;
            let parameter = Parameter::read(self)?;
            self.define(ValueId(function.parameters.len() as u32), parameter.kind)?;
            function.parameters.push(parameter);
            self.end_line()?;
        }
        while self.take("variable") {
            let kind = TypeId::read(self)?;
            let variable = Variable::read(self)?;
            self.define(variable.address, kind)?;
            function.variables.push(variable);
            self.end_line()?;
        }
        while self.take("block") {
            self.next(BlockId, function.blocks.len())?;
            let place = place.block(function.blocks.len());
            lines.0.push((place, self.line()));
            self.end_line()?;
            let block = self.block(lines, place)?;
            function.blocks.push(block);
        }
        if let Some((wanted, value)) = (0..)
            .zip(self.values.keys())
            // Without gaps, for the number of a value is its place in the list of types below.
            .find(|(wanted, value)| *value != wanted)
        {
            return Err(self.error(format!(
                "the function before this defines %{value}, but not %{wanted}"
            )));
        }
        function.values = self.values.values().copied().collect();
        self.module.functions.push(function);
        Ok(())
    }

    fn block(&mut self, lines: &mut Lines, place: Place) -> Result<Block> {
        let (mut phis, mut instructions, mut merge) = (Vec::new(), Vec::new(), None);
        loop {
            let line = self.line();
            if self.take("end") {
                let terminator = Terminator::read(self)?;
                let line = field!(read self, Option<Line>, "at");
                self.end_line()?;
                return Ok(Block {
                    phis,
                    instructions,
                    merge,
                    terminator,
                    line,
                });
            }
            if self.take("merge") {
                merge = Some(Merge::read(self)?);
                self.end_line()?;
                continue;
            }
            let result = self.result()?;
            match result {
                Some(result) if self.take("phi") => {
                    let incoming = Vec::read(self)?;
                    phis.push(Phi { result, incoming });
                }
                _ => {
                    lines.0.push((place.instruction(instructions.len()), line));
                    let operation = Operation::read(self)?;
                    self.bracket('(')?;
                    instructions.push(Instruction {
                        result,
                        operation,
                        operands: self.until(')', Text::read)?,
                        attributes: Attributes::read(self)?,
                        line: field!(read self, Option<Line>, "at"),
                    });
                }
            }
            self.end_line()?;
        }
    }

    /// The value that a line defines, if it begins with one.
    fn result(&mut self) -> Result<Option<ValueId>> {
        if !self.starts_with('%') {
            return Ok(None);
        }
        let value = ValueId::read(self)?;
        let kind = TypeId::read(self)?;
        self.define(value, kind)?;
        match self.take("=") {
            true => Ok(Some(value)),
            false => Err(self.error("expected `=`")),
        }
    }
}
