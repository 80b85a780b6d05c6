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

/// How many letters of a type are told, and how many parameters of a function: types that differ only behind that are
/// told alike. In a small file many can refer to the same large one.
const MOST_LETTERS: usize = 200;
const MOST_PARAMETERS: usize = 64;

/// How many times the size of the table of strings may be looked at for names.
const NAMES_AGAIN: u64 = 8;

enum Type {
    /// As it is written.
    Plain(String),
    /// By the numbers of other types.
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
            let of_text = |text: &str| Type::Plain(text.to_owned());
            // The numbers are LLVM's `TypeCodes` (`LLVMBitCodes.h`).
            let read = match (record, stream.operands.as_slice()) {
                (TYPE_STRUCT_NAME, operands) => {
                    name = String::from_utf8_lossy(&bytes_of(operands)).into_owned();
                    continue;
                }
                (2, _) => of_text("void"),
                (3, _) => of_text("float"),
                (4, _) => of_text("double"),
                (7, [width, ..]) => Type::Plain(format!("i{width}")),
                // What 8 points to, as every pointer said before LLVM 15, is of no meaning any more.
                (8, [_, space, ..]) | (25, [space, ..]) => Type::Plain(pointer(*space)),
                (10, _) => of_text("half"),
                (11, [count, of, ..]) => Type::Plain(short(format!("[{count} x {}]", self.text(*of)))),
                (12, [count, of, ..]) => Type::Plain(short(format!("<{count} x {}>", self.text(*of)))),
                (13, _) => of_text("x86_fp80"),
                (14, _) => of_text("fp128"),
                // Packed or not, then the members: whatever it is called, its layout counts.
                (18 | 20, [_, members @ ..]) => {
                    // Each has a letter at least.
                    let members = members.iter().take(MOST_LETTERS);
                    let members: Vec<_> = members.map(|member| self.text(*member)).collect();
                    Type::Plain(short(format!("{{{}}}", members.join(", "))))
                }
                (21, [is_variadic, result, parameters @ ..]) => Type::Function {
                    result: *result,
                    parameters: parameters.to_vec(),
                    is_variadic: *is_variadic != 0,
                },
                (23, _) => of_text("bfloat"),
                // A type of a target has its name in a record before it, as a struct has.
                (26, _) => Type::Plain(short(format!("target({:?})", std::mem::take(&mut name)))),
                // One that is not known here takes a number, too, or all behind it would be wrong.
                (other, _) => Type::Plain(format!("type {other}")),
            };
            // Types are numbered in order. A name and the count are records without a number.
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
        // Many functions can share one long name: those of real modules need the table once, or little more.
        let mut left = stream.blob.len().saturating_mul(NAMES_AGAIN);
        for &(at, size, number) in &self.functions {
            let Some(rest) = left.checked_sub(size) else {
                break;
            };
            left = rest;
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
        let told = parameters.iter().take(MOST_PARAMETERS);
        let mut told: Vec<String> = told.map(|parameter| self.text(*parameter).to_owned()).collect();
        // The count is told, so that types of other numbers of parameters never agree.
        if parameters.len() > MOST_PARAMETERS {
            told.push(format!("… {} in all", parameters.len()));
        }
        Some(FunctionType {
            result: self.text(*result).to_owned(),
            parameters: told,
            is_variadic: *is_variadic,
        })
    }

    /// A type that stands before the one that refers to it, as all do since pointers say nothing of what they point to.
    fn text(&self, number: u64) -> &str {
        match self.get(number) {
            Some(Type::Plain(text)) => text,
            Some(Type::Function { .. }) => "function",
            None => "?",
        }
    }
}

fn short(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(MOST_LETTERS) {
        text.truncate(end);
        text.push('…');
    }
    text
}

fn pointer(space: u64) -> String {
    match space {
        0 => "ptr".to_owned(),
        space => format!("ptr addrspace({space})"),
    }
}
