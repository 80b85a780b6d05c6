//! PTX: NVIDIA's virtual assembly, as text.
//!
//! Read are the directives outside of functions; bodies are passed over, with an eye on comments, strings and
//! braces only.

use std::collections::HashSet;

use offkit_image::target::triples;
use offkit_image::{CodeVersion, Error, Target};

use super::InspectedKernel;
use super::findings::Findings;
use crate::source::Source;

/// Functions that every driver supplies to whoever declares them.
const SUPPLIED_BY_DRIVER: &[&str] = &["__assertfail", "free", "malloc", "vprintf"];

/// The triple of the address size, and the architecture, from the first lines.
pub(super) fn header_target(bytes: &[u8]) -> Option<Target> {
    let header = header(bytes);
    (!header.arch.is_empty()).then(|| header.target())
}

/// The version of PTX, from the first lines.
pub(super) fn header_version(bytes: &[u8]) -> Option<CodeVersion> {
    CodeVersion::parse(header(bytes).version)
}

fn header(bytes: &[u8]) -> Header<'_> {
    // As far as the format is looked for behind comments, and a few lines more.
    const BEGINNING: usize = (1 << 12) + 256;
    let mut header = Header::default();
    let beginning = bytes.get(..BEGINNING).unwrap_or(bytes);
    for statement in Statements::new(beginning) {
        if !header.read(&statement) {
            break;
        }
    }
    header
}

pub(super) fn inspect(source: Source<'_>, findings: &mut Findings) -> Result<(), Error> {
    let mut header = Header::default();
    let mut statements = Statements::new(source.bytes());
    let mut seen = HashSet::new();
    let mut result = Ok(());
    for statement in &mut statements {
        if !header.read(&statement) {
            result = add(&statement, &mut seen, findings);
        }
        if result.is_err() {
            break;
        }
    }
    if !header.version.is_empty() {
        findings.inspection.version = Some(header.version.to_owned());
    }
    if !header.options.is_empty() {
        findings.detail("target options", header.options.join(", "));
    }
    if let Some(size) = header.address_size {
        findings.detail("address size", size);
    }
    findings.inspection.target = header.target();
    findings.inspection.producer = producer(source.bytes()).map(str::to_owned);
    if result.is_ok() && statements.depth > 0 {
        result = Err(Error::malformed("PTX ends within a function")
            .at(source.at(source.len()))
            .expecting("a closing brace"));
    }
    result
}

/// The directives that every module starts with.
#[derive(Default)]
struct Header<'data> {
    version: &'data str,
    arch: &'data str,
    options: Vec<&'data str>,
    address_size: Option<u64>,
}

impl<'data> Header<'data> {
    /// Takes a directive of the header; whether it was one.
    fn read(&mut self, statement: &Statement<'data>) -> bool {
        match statement.words.as_slice() {
            [".version", version, ..] => self.version = version,
            [".target", arch, options @ ..] => {
                self.arch = arch;
                self.options = options.to_vec();
            }
            [".address_size", size, ..] => self.address_size = size.parse().ok(),
            _ => return false,
        }
        true
    }

    fn target(&self) -> Target {
        let triple = match self.address_size {
            Some(32) => triples::NVPTX32,
            _ => triples::NVPTX64,
        };
        Target {
            triple: triple.into(),
            arch: self.arch.into(),
            features: Vec::new(),
        }
    }
}

/// Adds what a statement defines or declares. A function may be declared any number of times.
fn add<'data>(
    statement: &Statement<'data>,
    seen: &mut HashSet<&'data str>,
    findings: &mut Findings,
) -> Result<(), Error> {
    let has = |word| statement.words.contains(&word);
    let function = has(".func");
    // `seen` is asked last everywhere below: a declaration must not hide the definition behind it.
    // A variable is defined where it stands; a function without a body is only declared.
    let (defined, Some(name)) = (statement.has_body || !function, statement.name()) else {
        return Ok(());
    };
    if has(".entry") {
        if statement.has_body && seen.insert(name) {
            let mut kernel = InspectedKernel::new(findings.text(name.as_bytes())?);
            match statement.parameters.as_slice() {
                // Where the size of one is not known, only their number is right.
                sizes if sizes.is_empty() || sizes.contains(&0) => {
                    kernel.add("arguments", sizes.len() as u64)
                }
                sizes => {
                    let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
                    kernel.add("argument sizes", sizes.join(", "));
                }
            }
            add_bounds(statement, &mut kernel);
            findings.inspection.kernels.push(kernel);
        }
    } else if function || has(".global") || has(".const") {
        if has(".extern") {
            if !SUPPLIED_BY_DRIVER.contains(&name) && seen.insert(name) {
                let name = findings.text(name.as_bytes())?;
                findings.import(name);
            }
        } else if defined && (has(".visible") || has(".weak") || has(".common")) && seen.insert(name) {
            let name = findings.text(name.as_bytes())?;
            findings.export(name);
        }
    }
    Ok(())
}

/// The bounds on launches that stand between a kernel's parameters and its body.
fn add_bounds(statement: &Statement<'_>, kernel: &mut InspectedKernel) {
    const BOUNDS: &[(&str, &str)] = &[
        (".maxntid", "maximum block size"),
        (".reqntid", "required block size"),
        (".minnctapersm", "least blocks per multiprocessor"),
        (".maxnreg", "most registers"),
        (".reqnctapercluster", "required cluster size"),
    ];
    for (directive, name) in BOUNDS {
        let at = statement.words.iter().position(|word| word == directive);
        let values = at.and_then(|at| statement.words.get(at.saturating_add(1)..));
        let values: Vec<_> = values
            .unwrap_or_default()
            .iter()
            .take(3)
            // Dimensions of 1 at the end may be left out, and the next directive follows.
            .take_while(|word| word.starts_with(|c: char| c.is_ascii_digit()))
            .copied()
            .collect();
        if !values.is_empty() {
            kernel.add(*name, values.join(" x "));
        }
    }
}

/// The line of the banner that names the compiler: `Compiler Build ID: …` or `Generated by …`.
fn producer(bytes: &[u8]) -> Option<&str> {
    let banner = bytes.get(..bytes.len().min(1 << 12))?;
    let comments = banner.split(|byte| *byte == b'\n').map_while(|line| {
        let line = line.trim_ascii();
        match line.strip_prefix(b"//") {
            Some(comment) => Some(comment.trim_ascii()),
            None => line.is_empty().then_some(line),
        }
    });
    let texts = comments.filter_map(|comment| std::str::from_utf8(comment).ok());
    texts
        .filter_map(|text| {
            text.strip_prefix("Generated by ")
                .or_else(|| text.starts_with("Cuda compilation tools").then_some(text))
        })
        // The last one: NVIDIA's line with the release comes behind `Generated by NVIDIA NVVM Compiler`.
        .last()
}

/// What stands outside of bodies and parentheses, up to a semicolon, a body, or the next directive of the header.
#[derive(Debug, Default)]
struct Statement<'data> {
    words: Vec<&'data str>,
    /// The sizes of the parameters in the last parentheses, in bytes; 0 where one is not known.
    parameters: Vec<u64>,
    has_body: bool,
}

impl<'data> Statement<'data> {
    /// The name that is defined or declared: the first word that is neither a directive nor a number.
    fn name(&self) -> Option<&'data str> {
        let mut words = self.words.iter().copied();
        words.find(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || "_$%".contains(c)))
    }
}

/// How many bytes a number of a type has, by the digits of its name: `.u64`, `.bf16`, `.f16x2`; none for other words.
fn size_of_type(word: &str) -> Option<u64> {
    let digits = word
        .strip_prefix('.')?
        .trim_start_matches(|letter: char| "bfsu".contains(letter));
    let (bits, count) = digits.split_once('x').unwrap_or((digits, "1"));
    let bits = bits.parse::<u64>().ok()?.checked_mul(count.parse().ok()?)?;
    (bits >= 8).then_some(bits / 8)
}

/// The statements of a module, one after the other.
struct Statements<'data> {
    bytes: &'data [u8],
    at: usize,
    /// How many braces are open.
    depth: usize,
}

/// Directives of the header end without a semicolon, at whatever comes next.
fn is_header(words: &[&str]) -> bool {
    matches!(
        words.first(),
        Some(&(".version" | ".target" | ".address_size" | ".file"))
    )
}

impl<'data> Statements<'data> {
    fn new(bytes: &'data [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            depth: 0,
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn rest(&self) -> &'data [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    fn skip(&mut self, count: usize) {
        self.at = self.at.saturating_add(count).min(self.bytes.len());
    }

    /// Moves behind the next place of `end`, or to the end of the text.
    fn skip_past(&mut self, end: &[u8]) {
        match memchr::memmem::find(self.rest(), end) {
            Some(length) => self.skip(length.saturating_add(end.len())),
            None => self.at = self.bytes.len(),
        }
    }

    /// Moves over a string, in which a backslash takes the next character along.
    fn skip_string(&mut self) {
        self.skip(1);
        while let Some(length) = memchr::memchr2(b'"', b'\\', self.rest()) {
            self.skip(length);
            match self.peek() {
                Some(b'\\') => self.skip(2),
                _ => return self.skip(1),
            }
        }
        self.at = self.bytes.len();
    }

    /// The next word or character of meaning.
    fn token(&mut self) -> Option<Token<'data>> {
        loop {
            let byte = self.peek()?;
            if self.rest().starts_with(b"//") {
                self.skip_past(b"\n");
            } else if self.rest().starts_with(b"/*") {
                self.skip(2);
                self.skip_past(b"*/");
            } else if byte == b'"' {
                self.skip_string();
            } else if is_word(byte) {
                let rest = self.rest();
                let length = rest.iter().position(|byte| !is_word(*byte));
                let word = rest.get(..length.unwrap_or(rest.len())).unwrap_or_default();
                self.skip(word.len());
                // Letters of words are ASCII, so that this never fails.
                return Some(Token::Word(std::str::from_utf8(word).unwrap_or_default()));
            } else {
                self.skip(1);
                if !byte.is_ascii_whitespace() {
                    return Some(Token::Other(byte));
                }
            }
        }
    }

    /// Moves behind the brace that closes the body whose first one was just read.
    fn skip_body(&mut self) {
        self.depth = 1;
        while self.depth > 0 {
            // Between these, nothing has a meaning.
            let rest = self.rest();
            let Some(length) = rest.iter().position(|byte| b"{}\"/".contains(byte)) else {
                self.at = self.bytes.len();
                return;
            };
            self.skip(length);
            match self.peek() {
                Some(b'"') => self.skip_string(),
                Some(b'/') if self.rest().starts_with(b"//") => self.skip_past(b"\n"),
                Some(b'/') if self.rest().starts_with(b"/*") => {
                    self.skip(2);
                    self.skip_past(b"*/");
                }
                Some(b'{') => {
                    self.depth = self.depth.saturating_add(1);
                    self.skip(1);
                }
                Some(b'}') => {
                    self.depth = self.depth.saturating_sub(1);
                    self.skip(1);
                }
                _ => self.skip(1),
            }
        }
    }
}

impl<'data> Iterator for Statements<'data> {
    type Item = Statement<'data>;

    fn next(&mut self) -> Option<Statement<'data>> {
        /// No statement has more words that matter; tables of numbers have.
        const MOST_WORDS: usize = 64;
        let mut statement = Statement::default();
        let mut parentheses = 0_usize;
        let mut initializer = false;
        let mut is_count = false;
        loop {
            let before = self.at;
            let Some(token) = self.token() else {
                return (!statement.words.is_empty()).then_some(statement);
            };
            match token {
                Token::Word(word) if parentheses == 0 && !initializer => {
                    // Numbers and options behind such a directive are its own.
                    if is_header(&statement.words) && word.starts_with('.') {
                        self.at = before;
                        return Some(statement);
                    }
                    if statement.words.len() < MOST_WORDS {
                        statement.words.push(word);
                    }
                }
                Token::Word(".param") => statement.parameters.push(0),
                Token::Word(word) => {
                    if let Some(size) = statement.parameters.last_mut() {
                        // The first type is that of an element, a number in brackets how many there are. Other numbers,
                        // as behind `.align`, are neither.
                        *size = match size_of_type(word) {
                            Some(of_one) if *size == 0 => of_one,
                            _ if is_count => size.saturating_mul(word.parse().unwrap_or(0)),
                            _ => *size,
                        };
                    }
                }
                Token::Other(bracket @ (b'[' | b']')) if parentheses > 0 => is_count = bracket == b'[',
                // A function's results come first, in parentheses of their own; the last ones are the parameters.
                Token::Other(b'(') => {
                    if parentheses == 0 {
                        statement.parameters.clear();
                    }
                    parentheses = parentheses.saturating_add(1);
                }
                Token::Other(b')') => parentheses = parentheses.saturating_sub(1),
                Token::Other(b'=') => initializer = true,
                Token::Other(b';') => return Some(statement),
                Token::Other(b'{') => {
                    self.skip_body();
                    // Braces after an equals sign hold the values of a variable.
                    if !initializer {
                        statement.has_body = true;
                        return Some(statement);
                    }
                }
                Token::Other(_) => {}
            }
        }
    }
}

enum Token<'data> {
    Word(&'data str),
    Other(u8),
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_$%.".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use offkit_image::Limits;

    const MODULE: &[u8] = br#"// a banner with .entry nothing
.version 8.4
.target sm_90a, debug /* .target sm_10 */
.address_size 64
.file 1 "a \" { .entry x"
.extern .func (.param .b32 r) twice (.param .b32 a);
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.extern .shared .align 16 .b8 dynamic[];
.visible .global .align 4 .u32 table[2] = {1, 2};
.global .align 1 .b8 text[4] = {65, 66};
.visible .func (.param .b32 r) thrice (.param .b32 a) ;
.visible .func (.param .b32 r) .noreturn thrice (.param .b32 a)
{ .loc 1 2 3 // }
  { "}" } }
.func local(.param .b32 a) { ret; }
.weak .entry first(.param .u64 p, .param .u32 n)
.maxntid 128, 1, 1 { ret; }
.visible .entry first(.param .u64 p, .param .u32 n) { ret; }
"#;

    fn look(bytes: &[u8]) -> crate::Inspection {
        crate::inspect(bytes, crate::ImageFormat::Ptx, &Limits::default())
    }

    #[test]
    fn directives_are_told_from_comments_and_strings() {
        let inspection = look(MODULE);
        assert_eq!(inspection.problems, []);
        assert_eq!(inspection.version.as_deref(), Some("8.4"));
        assert_eq!(inspection.target.to_string(), "nvptx64-nvidia-cuda-sm_90a");
        assert_eq!(inspection.kernel_names().collect::<Vec<_>>(), ["first"]);
        assert_eq!(inspection.imports, ["twice"]);
        assert_eq!(inspection.exports, ["table", "thrice"]);
        let facts: Vec<_> = inspection.kernels[0]
            .details
            .iter()
            .map(|detail| format!("{} {}", detail.name, detail.value))
            .collect();
        assert_eq!(facts, ["argument sizes 8, 4", "maximum block size 128 x 1 x 1"]);
        assert_eq!(header_target(MODULE), Some(inspection.target));
    }

    #[test]
    fn parameters_have_sizes() {
        let of = |parameters: &str| {
            let module = format!(".version 8.4\n.target sm_80\n.entry k({parameters}) {{ ret; }}");
            let kernel = look(module.as_bytes()).kernels.remove(0);
            (kernel.argument_count(), kernel.argument_sizes())
        };
        let all = ".param .u64 .ptr .global .align 16 p, .param .align 4 .b8 s[12], .param .f16 h";
        assert_eq!(of(all), (Some(3), Some(vec![8, 12, 2])));
        assert_eq!(
            of(".param .align 8 .b64 wide[2], .param .f16x2 two"),
            (Some(2), Some(vec![16, 4]))
        );
        assert_eq!(of(""), (Some(0), None));
        assert_eq!(of(".param .texref t"), (Some(1), None));
    }

    #[test]
    fn an_open_body_is_noticed() {
        let inspection = look(b".version 8.4\n.target sm_80\n.entry k() { ret;");
        assert!(inspection.kernel_names().eq(["k"]));
        assert_eq!(inspection.problems.len(), 1);
    }
}
