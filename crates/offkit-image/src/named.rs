//! Enums whose variants have names.

/// Declares an enum with a name for each variant, by which it shows.
///
/// ```
/// offkit_image::named! {
///     /// What a fruit is like.
///     pub enum Taste, "What people call it." {
///         /// As sugar.
///         Sweet => "sweet",
///         /// As vinegar.
///         Sour => "sour",
///     }
/// }
///
/// assert_eq!(Taste::Sour.name(), "sour");
/// assert_eq!(Taste::from_name("sweet"), Some(Taste::Sweet));
/// assert_eq!(format!("{:>6}", Taste::ALL[1]), "  sour");
/// ```
#[macro_export]
macro_rules! named {
    ($(#[$attribute:meta])* pub enum $type:ident, $about:literal {
        $($(#[$about_variant:meta])* $variant:ident => $name:literal,)*
    }) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $type {
            $($(#[$about_variant])* $variant,)*
        }

        impl $type {
            /// Every one.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            #[doc = $about]
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// The one that is called so.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|known| known.name() == name)
            }
        }

        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}
