//! The words of a text, one after the other, and where they are.

use std::collections::{BTreeMap, HashMap};

use super::super::{ConstantId, Module, TypeId};

/// A text that is not that of a module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {what}")]
#[non_exhaustive]
pub struct TextError {
    /// Counted from 1.
    pub line: u32,
    /// Counted in characters from 1.
    pub column: u32,
    /// What is wrong there.
    pub what: String,
}

/// What a text is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'t> {
    Word(&'t str),
    /// What is between the quotes, as it stands.
    Quoted(&'t str),
    Bracket(char),
    NewLine,
    End,
}

impl std::fmt::Display for Token<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Token::Word(word) => write!(formatter, "`{word}`"),
            Token::Quoted(text) => write!(formatter, "\"{text}\""),
            Token::Bracket(bracket) => write!(formatter, "`{bracket}`"),
            Token::NewLine => formatter.write_str("the end of the line"),
            Token::End => formatter.write_str("the end of the text"),
        }
    }
}

const BRACKETS: [char; 4] = ['(', ')', '[', ']'];

/// A text being read, and the module that it has given so far.
pub(in crate::ir) struct Input<'t> {
    text: &'t str,
    /// Where the rest begins.
    at: usize,
    line: u32,
    /// Where the line begins.
    start: usize,
    /// What was found last, where it begins, and where it ends.
    peeked: Option<(usize, Token<'t>, usize)>,
    pub(super) module: Module,
    pub(super) inline: HashMap<(TypeId, u64), ConstantId>,
    /// The types of the values of the function being read.
    pub(super) values: BTreeMap<u32, TypeId>,
}

type Result<T> = std::result::Result<T, TextError>;

impl<'t> Input<'t> {
    pub(super) fn new(text: &'t str) -> Input<'t> {
        Input {
            text,
            at: 0,
            line: 1,
            start: 0,
            peeked: None,
            module: Module::default(),
            inline: HashMap::new(),
            values: BTreeMap::new(),
        }
    }

    /// The line of what comes next.
    pub(super) fn line(&self) -> u32 {
        self.line
    }

    pub(super) fn error(&self, what: impl Into<String>) -> TextError {
        let before = self.text.get(self.start..self.at).unwrap_or_default();
        TextError {
            line: self.line,
            column: u32::try_from(before.chars().count()).map_or(u32::MAX, |count| count.saturating_add(1)),
            what: what.into(),
        }
    }

    fn expected(&self, what: &str, found: Token<'_>) -> TextError {
        self.error(format!("expected {what}, found {found}"))
    }

    /// The next token and where it ends. What stands before it is skipped.
    fn peek(&mut self) -> (Token<'t>, usize) {
        // Each label that may come is asked for, and mostly it is none of them.
        if let Some((at, token, end)) = self.peeked
            && at == self.at
        {
            return (token, end);
        }
        let (token, end) = self.find_next();
        self.peeked = Some((self.at, token, end));
        (token, end)
    }

    fn find_next(&mut self) -> (Token<'t>, usize) {
        let mut rest = self.text.get(self.at..).unwrap_or_default();
        rest = rest.trim_start_matches([' ', '\t', '\r']);
        if rest.starts_with(';') {
            rest = rest
                .find('\n')
                .and_then(|end| rest.get(end..))
                .unwrap_or_default();
        }
        self.at = self.text.len().saturating_sub(rest.len());
        let is_end = |c: char| c.is_whitespace() || c == '"' || c == ';' || BRACKETS.contains(&c);
        let length = match rest.chars().next() {
            None | Some('\n') => 1,
            Some('"') => {
                // As if a backslash stood before the first quote, which must not end what it
                // begins.
                let mut escaped = true;
                let end = rest.find(|c| {
                    let ends = c == '\n' || c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                    ends
                });
                end.map_or(rest.len(), |end| end.saturating_add(1))
            }
            // Something is taken even where it is a blank that is none of ours.
            Some(first) if is_end(first) => first.len_utf8(),
            Some(_) => rest.find(is_end).unwrap_or(rest.len()),
        };
        let taken = rest.get(..length).unwrap_or(rest);
        let quoted = taken.strip_prefix('"').map(|text| text.strip_suffix('"'));
        let token = match (quoted, taken.chars().next()) {
            (Some(Some(text)), _) => Token::Quoted(text),
            // No quote at the end of the line.
            (Some(None), _) => Token::Word(taken.trim_end()),
            (None, None) => Token::End,
            (None, Some('\n')) => Token::NewLine,
            (None, Some(bracket)) if BRACKETS.contains(&bracket) => Token::Bracket(bracket),
            (None, Some(_)) => Token::Word(taken),
        };
        (token, self.at.saturating_add(taken.len()))
    }

    /// Takes a word if it is this one.
    pub(in crate::ir) fn take(&mut self, word: &str) -> bool {
        let (token, end) = self.peek();
        let found = token == Token::Word(word);
        if found {
            self.at = end;
        }
        found
    }

    /// Takes a word that `make` makes something of, or stays where it is.
    pub(super) fn parse<T>(
        &mut self,
        expected: &str,
        make: impl FnOnce(&'t str, &mut Self) -> Option<T>,
    ) -> Result<T> {
        let (token, end) = self.peek();
        let made = match token {
            Token::Word(word) => make(word, self),
            _ => None,
        };
        let made = made.ok_or_else(|| self.expected(expected, token))?;
        self.at = end;
        Ok(made)
    }

    /// Takes a word, one of those that there are, and what follows it.
    pub(in crate::ir) fn choose<T>(
        &mut self,
        words: &[&str],
        read: impl FnOnce(&'t str, &mut Self) -> Result<Option<T>>,
    ) -> Result<T> {
        let (token, end) = self.peek();
        if let Token::Word(word) = token {
            let at = std::mem::replace(&mut self.at, end);
            if let Some(made) = read(word, self)? {
                return Ok(made);
            }
            // Back before the word, which is where the error is.
            self.at = at;
        }
        Err(self.expected(&format!("one of {}", words.join(", ")), token))
    }

    pub(super) fn string(&mut self) -> Result<String> {
        let (token, end) = self.peek();
        let Token::Quoted(quoted) = token else {
            return Err(self.expected("a text in quotes", token));
        };
        let mut text = String::new();
        let mut characters = quoted.chars();
        while let Some(c) = characters.next() {
            let escaped = match (c, characters.clone().next()) {
                ('\\', Some('n')) => '\n',
                ('\\', Some(c @ ('\\' | '"'))) => c,
                ('\\', _) => return Err(self.error("only \\n, \\\\ and \\\" are escapes")),
                _ => {
                    text.push(c);
                    continue;
                }
            };
            characters.next();
            text.push(escaped);
        }
        self.at = end;
        Ok(text)
    }

    pub(super) fn bracket(&mut self, bracket: char) -> Result<()> {
        let (token, end) = self.peek();
        if token != Token::Bracket(bracket) {
            return Err(self.expected(&format!("`{bracket}`"), token));
        }
        self.at = end;
        Ok(())
    }

    /// All up to a closing bracket.
    pub(super) fn until<T>(
        &mut self,
        bracket: char,
        mut read: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut all = Vec::new();
        while self.peek().0 != Token::Bracket(bracket) {
            all.push(read(self)?);
        }
        self.bracket(bracket)?;
        Ok(all)
    }

    /// Goes on to the next line that has something on it.
    pub(super) fn end_line(&mut self) -> Result<()> {
        loop {
            match self.peek() {
                (Token::NewLine, end) => {
                    self.at = end;
                    self.start = end;
                    self.line = self.line.saturating_add(1);
                    if !matches!(self.peek().0, Token::NewLine) {
                        return Ok(());
                    }
                }
                (Token::End, _) => return Ok(()),
                (token, _) => return Err(self.expected("the end of the line", token)),
            }
        }
    }

    /// Whether what comes next is a word that begins so.
    pub(super) fn starts_with(&mut self, first: char) -> bool {
        matches!(self.peek().0, Token::Word(word) if word.starts_with(first))
    }

    pub(super) fn is_at_end(&mut self) -> bool {
        self.peek().0 == Token::End
    }
}
