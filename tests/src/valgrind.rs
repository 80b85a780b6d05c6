//! Programs under valgrind.

/// Ends with an error for what is used wrongly, and for what is never freed.
pub const VALGRIND: [&str; 6] = [
    "valgrind",
    "-q",
    "--error-exitcode=9",
    "--leak-check=full",
    "--show-leak-kinds=definite,indirect",
    "--errors-for-leak-kinds=definite,indirect",
];
