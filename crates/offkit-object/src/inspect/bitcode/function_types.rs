//! The types of functions in bitcode: what a call of them must agree with.

use offkit_image::Error;

use super::bitstream::{Bitstream, Item};
use super::{
    BLOCK_MODULE, BLOCK_STRING_TABLE, MAGIC_SIZE, MODULE_FUNCTION, MODULE_VERSION, STRING_TABLE_BLOB,
    VERSION_WITH_STRING_TABLE, bytes_of, unwrapped,
};
use crate::source::Source;

const BLOCK_TYPES: u64 = 17;

const TYPE_COUNT: u64 = 1;
const TYPE_STRUCT_NAME: u64 = 19;

/// How deep types in types are told, and how many of each: two that differ below that are told alike.
const MOST_DEPTH: usize = 3;
const MOST_PARTS: usize = 32;

/// A type by the numbers of others, which may stand before or behind it.
enum Type {
    Plain(String),
    /// A count, what it counts, and the brackets around both.
    Many(u64, u64, [char; 2]),
    Struct(Vec<u64>),
    Function {
        result: u64,
        parameters: Vec<u64>,
        is_variadic: bool,
    },
}

/// A function's type as LLVM writes it, such as `float (ptr addrspace(1), i32)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionType {
    /// What it returns.
    pub result: String,
    /// What it takes.
    pub parameters: Vec<String>,
    /// Whether it takes more than that.
    pub is_variadic: bool,
}

impl FunctionType {
    /// Whether a function of the one type may be called as one of the other: also what C declares without
    /// parameters, of which nothing is known but the result.
    #[must_use]
    pub fn agrees_with(&self, other: &Self) -> bool {
        let is_open = |of: &Self| of.is_variadic && of.parameters.is_empty();
        self == other || (is_open(self) || is_open(other)) && self.result == other.result
    }
}

impl std::fmt::Display for FunctionType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let more = self.is_variadic.then_some("...");
        let parameters: Vec<&str> = self.parameters.iter().map(String::as_str).chain(more).collect();
        write!(f, "{} ({})", self.result, parameters.join(", "))
    }
}

/// The types of those functions of a module that are wanted, defined and declared ones, by name. Modules of LLVM before
/// version 5, whose names are elsewhere, have none.
///
/// # Errors
///
/// Bitcode that is damaged.
pub fn function_types(
    bytes: &[u8],
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<(String, FunctionType)>, Error> {
    let (source, _) = unwrapped(Source::new(bytes))?;
    let mut stream = Bitstream::new(source, MAGIC_SIZE);
    let mut module = Module::default();
    loop {
        match stream.next()? {
            Item::End => return Ok(Vec::new()),
            Item::Block(BLOCK_MODULE) => {
                module = Module::default();
                module.read(&mut stream)?;
            }
            Item::Block(BLOCK_STRING_TABLE) => return module.named(&mut stream, wanted),
            _ => {}
        }
    }
}

/// The types and functions of a module.
#[derive(Default)]
struct Module {
    has_string_table: bool,
    types: Vec<Type>,
    /// Where its name is, and the number of its type.
    functions: Vec<(u64, u64, u64)>,
}

impl Module {
    fn read(&mut self, stream: &mut Bitstream<'_>) -> Result<(), Error> {
        stream.enter();
        loop {
            match (stream.next()?, stream.operands.as_slice()) {
                (Item::End, _) => return Ok(()),
                (Item::Block(BLOCK_TYPES), _) => self.read_types(stream)?,
                (Item::Record(MODULE_VERSION), [version, ..]) => {
                    self.has_string_table = *version >= VERSION_WITH_STRING_TABLE;
                }
                (Item::Record(MODULE_FUNCTION), [at, size, number, ..]) if self.has_string_table => {
                    self.functions.push((*at, *size, *number));
                }
                _ => {}
            }
        }
    }

    fn read_types(&mut self, stream: &mut Bitstream<'_>) -> Result<(), Error> {
        let mut name = String::new();
        stream.enter();
        loop {
            let record = match stream.next()? {
                Item::End => return Ok(()),
                Item::Block(_) | Item::Record(TYPE_COUNT) => continue,
                Item::Record(record) => record,
            };
            let plain = |text: &str| Type::Plain(text.to_owned());
            let read = match (record, stream.operands.as_slice()) {
                (TYPE_STRUCT_NAME, operands) => {
                    name = String::from_utf8_lossy(&bytes_of(operands)).into_owned();
                    continue;
                }
                (2, _) => plain("void"),
                (3, _) => plain("float"),
                (4, _) => plain("double"),
                (7, [width, ..]) => Type::Plain(format!("i{width}")),
                (8, [_, space, ..]) | (25, [space, ..]) => Type::Plain(pointer(*space)),
                (10, _) => plain("half"),
                (11, [count, of, ..]) => Type::Many(*count, *of, ['[', ']']),
                (12, [count, of, ..]) => Type::Many(*count, *of, ['<', '>']),
                (13, _) => plain("x86_fp80"),
                (14, _) => plain("fp128"),
                // Packed or not, then the members.
                (18 | 20, [_, members @ ..]) => Type::Struct(members.to_vec()),
                (21, [is_variadic, result, parameters @ ..]) => Type::Function {
                    result: *result,
                    parameters: parameters.to_vec(),
                    is_variadic: *is_variadic != 0,
                },
                (23, _) => plain("bfloat"),
                (26, _) => Type::Plain(format!("target({:?})", std::mem::take(&mut name))),
                (other, _) => Type::Plain(format!("type {other}")),
            };
            self.types.push(read);
        }
    }

    /// What is wanted, with the names out of the table of strings.
    fn named(
        &self,
        stream: &mut Bitstream<'_>,
        wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<(String, FunctionType)>, Error> {
        stream.enter();
        loop {
            match stream.next()? {
                Item::End => return Ok(Vec::new()),
                Item::Record(STRING_TABLE_BLOB) => break,
                _ => {}
            }
        }
        let mut found = Vec::new();
        for &(at, size, number) in &self.functions {
            let name = stream.blob.need(
                at,
                size,
                "bitcode symbol's name lies outside of the table",
                "name",
            )?;
            if let Ok(name) = std::str::from_utf8(name.bytes())
                && wanted(name)
                && let Some(function) = self.function(number)
            {
                found.push((name.to_owned(), function));
            }
        }
        Ok(found)
    }

    fn get(&self, number: u64) -> Option<&Type> {
        self.types.get(usize::try_from(number).ok()?)
    }

    fn function(&self, number: u64) -> Option<FunctionType> {
        let Type::Function {
            result,
            parameters,
            is_variadic,
        } = self.get(number)?
        else {
            return None;
        };
        Some(FunctionType {
            result: self.text(*result, 0),
            parameters: parameters
                .iter()
                .map(|parameter| self.text(*parameter, 0))
                .collect(),
            is_variadic: *is_variadic,
        })
    }

    fn text(&self, number: u64, depth: usize) -> String {
        match self.get(number) {
            Some(Type::Plain(text)) => text.clone(),
            _ if depth > MOST_DEPTH => "…".to_owned(),
            Some(Type::Many(count, of, [open, close])) => {
                format!(
                    "{open}{count} x {}{close}",
                    self.text(*of, depth.saturating_add(1))
                )
            }
            Some(Type::Struct(members)) => {
                let members = members.iter().take(MOST_PARTS);
                let members: Vec<_> = members
                    .map(|member| self.text(*member, depth.saturating_add(1)))
                    .collect();
                format!("{{{}}}", members.join(", "))
            }
            Some(Type::Function { .. }) => "function".to_owned(),
            None => "?".to_owned(),
        }
    }
}

fn pointer(space: u64) -> String {
    match space {
        0 => "ptr".to_owned(),
        space => format!("ptr addrspace({space})"),
    }
}
