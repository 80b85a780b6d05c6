//! The binary interface, held against what the releases have.

use offkit_pi::ffi::*;
use offkit_pi::table::{Api, Function, Layout, Revision, Slot};

mod releases;

use releases::RELEASES;

#[test]
fn every_function_is_where_the_release_has_it_and_in_its_revision() {
    for (release, layout) in RELEASES.iter().zip(Layout::ALL) {
        assert_eq!(layout.version(), release.version);
        let slots = release.slots();
        assert_eq!(slots.len(), layout.functions.len(), "{}", release.version);
        for (slot, revision) in slots.iter().zip(layout.functions) {
            let name = revision.function().name();
            assert_eq!(name, slot.function);
            // Revisions of another meaning have the same parameters, and no letter in the table.
            let letter = format!("{revision:?}")[name.len()..]
                .trim_start_matches('_')
                .to_owned();
            let same_parameters = ["piEventCreate", "piTearDown", "piextUSMEnqueueMemAdvise"];
            if !same_parameters.contains(&name) {
                assert_eq!(
                    if letter.is_empty() { "a" } else { &letter },
                    slot.revision,
                    "{name}"
                );
            }
        }
        assert_eq!(layout.table_offset(), slots[0].offset);
        assert_eq!(layout.record_size(), release.record_size);
        let last = slots.last().unwrap();
        assert_eq!(
            layout.table_offset() + 8 * layout.functions.len(),
            last.offset + 8
        );
    }
}

#[test]
fn meanings_that_changed_are_revisions() {
    let has = |layout: &Layout, revision| layout.functions.contains(&revision);
    for layout in Layout::ALL {
        let is_late = matches!(layout.version(), "12.27" | "15.47");
        assert_eq!(has(layout, Revision::piEventCreate_b), is_late);
        assert_eq!(has(layout, Revision::piTearDown_b), layout.version() == "15.47");
    }
}

#[test]
fn versions_are_found_with_what_plugins_add_to_them() {
    let version = |text| Layout::of_version(text).map(Layout::version);
    assert_eq!(version("2.3"), Some("2.3"));
    assert_eq!(version("12.27.1"), Some("12.27"));
    for unknown in ["", "2", "2.30", "12.2", "12.271", "14.38.1"] {
        assert_eq!(version(unknown), None, "{unknown}");
    }
}

#[test]
fn structs_have_the_sizes_of_the_c_interface() {
    assert_eq!(size_of::<pi_result>(), 4);
    assert_eq!(size_of::<pi_offload_entry_struct>(), 32);
    assert_eq!(size_of::<pi_device_binary_property_struct>(), 32);
    assert_eq!(size_of::<pi_device_binary_property_set_struct>(), 24);
    assert_eq!(size_of::<pi_device_binary_struct>(), 96);
    assert_eq!(core::mem::offset_of!(pi_device_binary_struct, BinaryStart), 48);
    assert_eq!(
        core::mem::offset_of!(pi_device_binary_struct, PropertySetsEnd),
        88
    );
    assert_eq!(size_of::<pi_device_binaries_struct>(), 32);
    assert_eq!(size_of::<pi_image_desc>(), 72);
    assert_eq!(size_of::<pi_buff_rect_region_struct>(), 24);
    assert_eq!(size_of::<pi_mem_obj_property>(), 24);
    assert_eq!(core::mem::offset_of!(pi_mem_obj_property, mem_access), 16);
    assert_eq!(size_of::<pi_ext_command_buffer_desc>(), 24);
    assert_eq!(size_of::<cxx_bool>(), 4);
}

#[test]
fn a_table_in_another_order_is_read_by_name() {
    unsafe extern "C" fn finish(_: pi_queue) -> pi_result {
        PI_OUT_OF_RESOURCES
    }
    unsafe extern "C" fn tear_down(_: *mut core::ffi::c_void) -> pi_result {
        PI_SUCCESS
    }
    // A version with two functions, the other way round than in 2.3, and one this version does not have.
    let functions = &[Revision::piTearDown, Revision::piQueueFinish];
    let layout = Layout {
        version: c"0.1",
        version_length: 20,
        trailer: 0,
        functions,
    };
    let provided = Api {
        piQueueFinish: Some(finish),
        piTearDown: Some(tear_down),
        ..Api::EMPTY
    };
    let slots = functions.map(|revision| -> Slot { provided.slots()[revision as usize] });
    // SAFETY: the slots hold functions of the types that the layout gives them.
    let api = unsafe { Api::from_slots(&layout, &slots) };
    let finish = api.piQueueFinish.unwrap();
    // SAFETY: the function ignores its argument.
    let result = unsafe { finish(core::ptr::null_mut()) };
    assert_eq!(result, PI_OUT_OF_RESOURCES);
    assert!(api.piTearDown.is_some() && api.piPlatformsGet.is_none());
}

#[test]
fn functions_know_their_names_and_parameters() {
    assert_eq!(Function::ALL.len(), 164);
    for (index, function) in Function::ALL.iter().enumerate() {
        assert_eq!(*function as usize, index);
    }
    assert_eq!(Revision::ALL.len(), Api::COUNT);
    for (index, revision) in Revision::ALL.iter().enumerate() {
        assert_eq!(*revision as usize, index);
    }
    assert_eq!(
        Revision::piQueueCreate.parameters(),
        ["context", "device", "properties", "queue"]
    );
    assert_eq!(Revision::piEnqueueMemBufferReadRect.parameters().len(), 14);
    assert_eq!(
        Revision::piextMemGetNativeHandle_b.function(),
        Function::piextMemGetNativeHandle
    );
    assert_eq!(
        Revision::piextMemGetNativeHandle_b.parameters(),
        ["mem", "device", "native_handle"]
    );
}

#[test]
fn result_codes_have_names() {
    assert_eq!(
        PI_LINK_PROGRAM_FAILURE.to_string(),
        "PI_LINK_PROGRAM_FAILURE (-17)"
    );
    assert_eq!(PI_ERROR_UNKNOWN.to_string(), "PI_ERROR_UNKNOWN (-999)");
    assert_eq!(pi_result(7).to_string(), "result 7");
}
