//! The form as text: one description of each type gives its definition, the text that it is written as, and
//! what reads that text.

#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic
    )
)]

mod input;
mod module;
mod values;

pub(super) use input::Input;
pub use input::TextError;
pub(super) use values::{Reference, inline_constants};

use std::collections::HashMap;
use std::fmt::{Display, Write};

use super::{ConstantId, Module, TypeId};

/// What has a text: words and brackets on a line.
pub(super) trait Text: Sized {
    fn write(&self, out: &mut Writer<'_>);
    fn read(input: &mut Input<'_>) -> Result<Self, TextError>;

    /// Shows each number of something else that is in here.
    fn visit(&self, _: &mut dyn FnMut(Reference)) {}
}

/// Defines an enum or a struct together with its text.
///
/// Each variant has a word, and its fields follow. So do those of a struct, which has no word of its own. A field
/// with a label is written behind the label, and not at all where it has its default.
macro_rules! described {
    ($(#[$meta:meta])* pub enum $name:ident {
        $($(#[$doc:meta])* $variant:ident
            $(( $($inner:ident: $inner_kind:ty),* ))?
            $({ $($(#[$field_doc:meta])* $field:ident: $kind:ty $(= $label:literal)?),* $(,)? })?
            = $word:literal),* $(,)?
    }) => {
        $(#[$meta])*
        pub enum $name {
            $($(#[$doc])* $variant $(( $($inner_kind),* ))? $({ $($(#[$field_doc])* $field: $kind),* })?),*
        }

        impl $crate::ir::text::Text for $name {
            fn write(&self, out: &mut $crate::ir::text::Writer<'_>) {
                match self {
                    $($name::$variant $(( $($inner),* ))? $({ $($field),* })? => {
                        out.word($word);
                        $($($crate::ir::text::Text::write($inner, out);)*)?
                        $($($crate::ir::text::field!(write $field, out $(, $label)?);)*)?
                    })*
                }
            }

            // `_input`, and `_visitor` below: an enum whose variants are words alone uses neither.
            fn read(
                input: &mut $crate::ir::text::Input<'_>,
            ) -> Result<Self, $crate::ir::text::TextError> {
                input.choose(&[$($word),*], |word, _input| Ok(Some(match word {
                    $($word => {
                        $($(let $inner = <$inner_kind as $crate::ir::text::Text>::read(_input)?;)*)?
                        $($(let $field = $crate::ir::text::field!(read _input, $kind $(, $label)?);)*)?
                        $name::$variant $(( $($inner),* ))? $({ $($field),* })?
                    })*
                    _ => return Ok(None),
                })))
            }

            fn visit(&self, _visitor: &mut dyn FnMut($crate::ir::text::Reference)) {
                match self {
                    $($name::$variant $(( $($inner),* ))? $({ $($field),* })? => {
                        $($($crate::ir::text::Text::visit($inner, _visitor);)*)?
                        $($($crate::ir::text::Text::visit($field, _visitor);)*)?
                    })*
                }
            }
        }
    };
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$field_doc:meta])* $field:ident: $kind:ty $(= $label:literal)?),* $(,)?
    }) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[$field_doc])* pub $field: $kind),*
        }

        impl $crate::ir::text::Text for $name {
            fn write(&self, out: &mut $crate::ir::text::Writer<'_>) {
                let $name { $($field),* } = self;
                $($crate::ir::text::field!(write $field, out $(, $label)?);)*
            }

            fn read(
                input: &mut $crate::ir::text::Input<'_>,
            ) -> Result<Self, $crate::ir::text::TextError> {
                $(let $field = $crate::ir::text::field!(read input, $kind $(, $label)?);)*
                Ok($name { $($field),* })
            }

            fn visit(&self, visitor: &mut dyn FnMut($crate::ir::text::Reference)) {
                let $name { $($field),* } = self;
                $($crate::ir::text::Text::visit($field, visitor);)*
            }
        }
    };
}

/// One field, with its label or without.
macro_rules! field {
    (write $field:expr, $out:expr) => {
        $crate::ir::text::Text::write($field, $out)
    };
    (write $field:expr, $out:expr, $label:literal) => {
        if !$crate::ir::text::is_default($field) {
            $out.word($label);
            $crate::ir::text::Text::write($field, $out);
        }
    };
    (read $input:expr, $kind:ty) => {
        <$kind as $crate::ir::text::Text>::read($input)?
    };
    (read $input:expr, $kind:ty, $label:literal) => {
        if $input.take($label) {
            <$kind as $crate::ir::text::Text>::read($input)?
        } else {
            <$kind>::default()
        }
    };
}

pub(super) use {described, field};

pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The text of a module as it grows.
pub(super) struct Writer<'m> {
    module: &'m Module,
    text: String,
    /// Whether types go by what they are and not only by their numbers.
    names_types: bool,
    /// The constants that are written as their values.
    inline: HashMap<(TypeId, u64), ConstantId>,
}

impl Writer<'_> {
    /// Adds a word, with a space before it where one is needed.
    pub(super) fn word(&mut self, word: impl Display) {
        if !self.text.is_empty() && !self.text.ends_with(['\n', '(', '[', ' ']) {
            self.text.push(' ');
        }
        _ = write!(self.text, "{word}");
    }

    fn open(&mut self, bracket: char) {
        self.word(bracket);
    }

    fn close(&mut self, bracket: char) {
        self.text.push(bracket);
    }

    /// Ends the line; the next one begins so deep.
    fn line(&mut self, indent: usize) {
        self.text.push('\n');
        (0..indent).for_each(|_| self.text.push_str("  "));
    }
}
