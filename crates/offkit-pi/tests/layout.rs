//! The binary interface, held against what the release 2021.2.0 has.

use offkit_pi::ffi::*;
use offkit_pi::table::{Api, Function, Layout, PluginRecord, PluginRecordV2_3, Slot};

/// Index, offset and name of every slot, as found in the real plugins.
fn golden() -> Vec<(usize, usize, &'static str)> {
    include_str!("data/pi-2.3.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let mut columns = line.split(' ');
            let mut number = || columns.next().unwrap().parse().unwrap();
            (number(), number(), columns.next().unwrap())
        })
        .collect()
}

#[test]
fn every_function_is_where_the_release_has_it() {
    let layout = Layout::V2_3;
    assert_eq!(golden().len(), layout.functions.len());
    for (index, offset, name) in golden() {
        let function = layout.functions[index];
        assert_eq!(function.name(), name);
        assert_eq!(layout.offset(function), Some(offset), "{name}");
    }
}

#[test]
fn the_record_has_the_size_and_offsets_of_the_release() {
    assert_eq!(Layout::V2_3.record_size(), 824);
    assert_eq!(size_of::<PluginRecordV2_3>(), 824);
    assert_eq!(core::mem::offset_of!(PluginRecordV2_3, plugin_version), 4);
    assert_eq!(core::mem::offset_of!(PluginRecordV2_3, targets), 8);
    assert_eq!(core::mem::offset_of!(PluginRecordV2_3, functions), 16);
    // The records of later releases differ in the length of the version strings.
    assert_eq!(core::mem::offset_of!(PluginRecord<10, 106>, functions), 32);
    assert_eq!(core::mem::offset_of!(PluginRecord<20, 159>, functions), 48);
    assert_eq!(size_of::<PluginRecord<20, 159>>(), 1320);
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
    let functions = &[Function::piTearDown, Function::piQueueFinish];
    let layout = Layout {
        version: c"0.1",
        version_length: 20,
        table_offset: 48,
        functions,
    };
    let provided = Api {
        piQueueFinish: Some(finish),
        piTearDown: Some(tear_down),
        ..Api::EMPTY
    };
    let slot = |function: Function| -> Slot { provided.slots()[function as usize] };
    let slots = [slot(Function::piTearDown), slot(Function::piQueueFinish)];
    // SAFETY: the slots hold functions of the types that the layout gives them.
    let api = unsafe { Api::from_slots(&layout, &slots) };
    let finish = api.piQueueFinish.unwrap();
    // SAFETY: the function ignores its argument.
    let result = unsafe { finish(core::ptr::null_mut()) };
    assert_eq!(result, PI_OUT_OF_RESOURCES);
    assert!(api.piTearDown.is_some() && api.piPlatformsGet.is_none());
    assert_eq!(layout.offset(Function::piQueueFinish), Some(56));
    assert_eq!(layout.offset(Function::piPlatformsGet), None);
}

#[test]
fn functions_know_their_names_and_parameters() {
    assert_eq!(Function::ALL.len(), Api::COUNT);
    for (index, function) in Function::ALL.iter().enumerate() {
        assert_eq!(*function as usize, index);
    }
    assert_eq!(
        Function::piQueueCreate.parameters(),
        ["context", "device", "properties", "queue"]
    );
    assert_eq!(Function::piEnqueueMemBufferReadRect.parameters().len(), 14);
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
