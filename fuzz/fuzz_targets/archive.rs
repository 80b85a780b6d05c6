//! Any bytes as an archive, to be read, changed and written again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use offkit_object::{Limits, Location};
use offkit_object::archive::{ArchiveKind, Member, members, ThinMembers, replace_member, write};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits::default();
    let _ = offkit_object::read("file", bytes, &limits);
    let named = ThinMembers::of("file".as_ref(), bytes, Location::of_file("file"), None, &limits);
    assert!(named.count() <= bytes.len());
    let Ok(found) = members(bytes, &limits) else {
        return;
    };
    for number in 0..found.len().min(3) {
        if let Ok(changed) = replace_member(bytes, number, b"another content") {
            let after = members(&changed, &limits).expect("a changed archive can be read");
            assert_eq!(after.len(), found.len());
            assert_eq!(after[number].bytes, b"another content");
        }
    }
    let names: Option<Vec<&str>> = found
        .iter()
        .map(|member| std::str::from_utf8(member.name).ok())
        .collect();
    let Some(names) = names else { return };
    let list: Vec<Member<'_>> = names
        .iter()
        .zip(&found)
        .map(|(name, member)| Member::new(name, member.bytes))
        .collect();
    for kind in [ArchiveKind::Gnu, ArchiveKind::Bsd] {
        if let Ok(written) = write(&list, kind) {
            let again = members(&written, &limits).expect("a written archive can be read");
            // Members of the names of tables are such for readers.
            if again.len() == found.len() {
                assert!(
                    again
                        .iter()
                        .zip(&found)
                        .all(|(one, other)| one.bytes == other.bytes)
                );
            }
        }
    }
});
