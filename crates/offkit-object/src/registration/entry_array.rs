//! The host's table of offload entries: compilers leave entries in a section of many objects, and the linker puts
//! them together.

use super::host_object::{HostObject, Place};

/// The section with entries, whose name is one in C so that linkers define where it begins and ends.
const SECTION: &str = "llvm_offload_entries";

/// The beginning and the end of the table.
///
/// In ELF the linker defines them if there is such a section: an empty one makes sure that there is. In COFF they
/// are in sections that linkers sort by what follows the `$` in their names.
pub(super) fn entry_array(object: &mut HostObject) -> (Place, Place) {
    let (start, stop) = (format!("__start_{SECTION}"), format!("__stop_{SECTION}"));
    if object.is_coff() {
        // clang puts the entries of Windows into `$OE`, which sorts between these two.
        let start = object.boundary(&start, &format!("{SECTION}$OA"), false);
        let stop = object.boundary(&stop, &format!("{SECTION}$OZ"), true);
        return (start, stop);
    }
    object.section(SECTION, object::SectionKind::Data, Vec::new(), 8);
    // Hidden, as each library has a table of its own: the loader must not bind all of them to the
    // first that it finds.
    (
        object.hidden_symbol(&start).into(),
        object.hidden_symbol(&stop).into(),
    )
}
