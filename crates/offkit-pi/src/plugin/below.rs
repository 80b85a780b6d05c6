//! What a plugin exports of the drivers or adapters that it opens itself.

/// Exports what [`below`](crate::below) is about from a plugin's library, beside [`export_plugin!`](crate::export_plugin): what
/// is below it, a [`LeftOut`](crate::below::LeftOut) that it looks at before it opens any, and a function that returns a list
/// of [`Below`](crate::below::Below).
#[macro_export]
macro_rules! export_below {
    ($kind:expr, $left_out:path, $list:path) => {
        // SAFETY: notes are for readers of the file; nothing in the program looks at them.
        #[cfg(all(unix, not(target_vendor = "apple")))]
        #[used]
        #[unsafe(link_section = ".note.offkit.below")]
        static BELOW: $crate::note::Note<8> = $crate::below::note($kind);

        /// Has the plugin leave out a library that it would otherwise open.
        ///
        /// # Safety
        ///
        /// `library` must be null, or text with a zero at its end.
        // SAFETY: the name is this project's own, and there is one in a library.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn offkitPluginLeaveOut(library: *const ::core::ffi::c_char) {
            // SAFETY: by the caller's promise.
            if let Some(library) = unsafe { $crate::below::path(library) } {
                $left_out.add(library);
            }
        }

        /// What became of all that the plugin has looked for, a line each.
        // SAFETY: as above.
        #[unsafe(no_mangle)]
        pub extern "C" fn offkitPluginListBelow() -> *const ::core::ffi::c_char {
            // Made once, for the text has to stay where it is as long as the library does.
            static TEXT: $crate::plugin::LazyLock<::std::ffi::CString> =
                $crate::plugin::LazyLock::new(|| $crate::below::text(&$list()));
            TEXT.as_ptr()
        }
    };
}
