//! The one list of the functions that offkit calls, made from the headers of DPC++ 2025.1, 2025.3, 2026.0 and 2026.2.
//!
//! `for_each_function!` hands the list to another macro. A line has the table that the function is in; its place there,
//! from 0, in all forms, or in each of [`Form::ALL`](crate::Form::ALL) (`_`: the form does not have it); its name and
//! parameters. A function that changed under its name has a line for each, with a letter at the end of the name, which
//! the last one goes without where later forms have the function as well.

/// Hands the list of functions to another macro.
#[macro_export]
macro_rules! for_each_function {
    ($callback:ident) => {
        $callback! {
            Adapter [0] urAdapterGet(num_entries: u32, adapters: *mut ur_adapter_handle_t, num_adapters: *mut u32);
            Adapter [3] urAdapterGetLastError(adapter: ur_adapter_handle_t, message: *mut *const c_char, error: *mut i32);
            Platform [0 _ _ _] urPlatformGet_a(adapters: *mut ur_adapter_handle_t, num_adapters: u32, num_entries: u32, platforms: *mut ur_platform_handle_t, num_platforms: *mut u32);
            Platform [_ 0 0 0] urPlatformGet(adapter: ur_adapter_handle_t, num_entries: u32, platforms: *mut ur_platform_handle_t, num_platforms: *mut u32);
            Platform [1] urPlatformGetInfo(platform: ur_platform_handle_t, prop_name: u32, prop_size: usize, prop_value: *mut c_void, prop_size_ret: *mut usize);
            Platform [2] urPlatformGetNativeHandle(platform: ur_platform_handle_t, native_platform: *mut ur_native_handle_t);
            Device [0] urDeviceGet(platform: ur_platform_handle_t, device_type: u32, num_entries: u32, devices: *mut ur_device_handle_t, num_devices: *mut u32);
            Device [1] urDeviceGetInfo(device: ur_device_handle_t, prop_name: u32, prop_size: usize, prop_value: *mut c_void, prop_size_ret: *mut usize);
            Device [2] urDeviceRetain(device: ur_device_handle_t);
            Device [3] urDeviceRelease(device: ur_device_handle_t);
            Device [4] urDevicePartition(device: ur_device_handle_t, properties: *const ur_device_partition_properties_t, num_devices: u32, sub_devices: *mut ur_device_handle_t, num_devices_ret: *mut u32);
            Device [5] urDeviceSelectBinary(device: ur_device_handle_t, binaries: *const ur_device_binary_t, num_binaries: u32, selected_binary: *mut u32);
            Device [6] urDeviceGetNativeHandle(device: ur_device_handle_t, native_device: *mut ur_native_handle_t);
            Device [8] urDeviceGetGlobalTimestamps(device: ur_device_handle_t, device_timestamp: *mut u64, host_timestamp: *mut u64);
            Context [0] urContextCreate(device_count: u32, devices: *const ur_device_handle_t, properties: *const c_void, context: *mut ur_context_handle_t);
            Context [1] urContextRetain(context: ur_context_handle_t);
            Context [2] urContextRelease(context: ur_context_handle_t);
            Context [4] urContextGetNativeHandle(context: ur_context_handle_t, native_context: *mut ur_native_handle_t);
            Context [5] urContextCreateWithNativeHandle(native_context: ur_native_handle_t, adapter: ur_adapter_handle_t, num_devices: u32, devices: *const ur_device_handle_t, properties: *const ur_native_properties_t, context: *mut ur_context_handle_t);
            Queue [0] urQueueGetInfo(queue: ur_queue_handle_t, prop_name: u32, prop_size: usize, prop_value: *mut c_void, prop_size_ret: *mut usize);
            Queue [1] urQueueCreate(context: ur_context_handle_t, device: ur_device_handle_t, properties: *const ur_queue_properties_t, queue: *mut ur_queue_handle_t);
            Queue [2] urQueueRetain(queue: ur_queue_handle_t);
            Queue [3] urQueueRelease(queue: ur_queue_handle_t);
            Queue [4] urQueueGetNativeHandle(queue: ur_queue_handle_t, desc: *mut c_void, native_queue: *mut ur_native_handle_t);
            Queue [5] urQueueCreateWithNativeHandle(native_queue: ur_native_handle_t, context: ur_context_handle_t, device: ur_device_handle_t, properties: *const ur_native_properties_t, queue: *mut ur_queue_handle_t);
            Queue [6] urQueueFinish(queue: ur_queue_handle_t);
            Queue [7] urQueueFlush(queue: ur_queue_handle_t);
            Mem [0] urMemImageCreate(context: ur_context_handle_t, flags: u32, image_format: *const ur_image_format_t, image_desc: *const ur_image_desc_t, host: *mut c_void, mem: *mut ur_mem_handle_t);
            Mem [1] urMemBufferCreate(context: ur_context_handle_t, flags: u32, size: usize, properties: *const ur_buffer_properties_t, buffer: *mut ur_mem_handle_t);
            Mem [2] urMemRetain(mem: ur_mem_handle_t);
            Mem [3] urMemRelease(mem: ur_mem_handle_t);
            Mem [4] urMemBufferPartition(buffer: ur_mem_handle_t, flags: u32, buffer_create_type: u32, region: *const ur_buffer_region_t, mem: *mut ur_mem_handle_t);
            Mem [5] urMemGetNativeHandle(mem: ur_mem_handle_t, device: ur_device_handle_t, native_mem: *mut ur_native_handle_t);
            Mem [6] urMemBufferCreateWithNativeHandle(native_mem: ur_native_handle_t, context: ur_context_handle_t, properties: *const ur_native_properties_t, mem: *mut ur_mem_handle_t);
            Mem [8] urMemGetInfo(memory: ur_mem_handle_t, prop_name: u32, prop_size: usize, prop_value: *mut c_void, prop_size_ret: *mut usize);
            Mem [9] urMemImageGetInfo(memory: ur_mem_handle_t, prop_name: u32, prop_size: usize, prop_value: *mut c_void, prop_size_ret: *mut usize);
            Sampler [0] urSamplerCreate(context: ur_context_handle_t, desc: *const ur_sampler_desc_t, sampler: *mut ur_sampler_handle_t);
            Sampler [1] urSamplerRetain(sampler: ur_sampler_handle_t);
            Sampler [2] urSamplerRelease(sampler: ur_sampler_handle_t);
            Usm [0] urUSMHostAlloc(context: ur_context_handle_t, usm_desc: *const ur_usm_desc_t, pool: ur_usm_pool_handle_t, size: usize, mem: *mut *mut c_void);
            Usm [1] urUSMDeviceAlloc(context: ur_context_handle_t, device: ur_device_handle_t, usm_desc: *const ur_usm_desc_t, pool: ur_usm_pool_handle_t, size: usize, mem: *mut *mut c_void);
            Usm [2] urUSMSharedAlloc(context: ur_context_handle_t, device: ur_device_handle_t, usm_desc: *const ur_usm_desc_t, pool: ur_usm_pool_handle_t, size: usize, mem: *mut *mut c_void);
            Usm [3] urUSMFree(context: ur_context_handle_t, mem: *mut c_void);
            Usm [4] urUSMGetMemAllocInfo(context: ur_context_handle_t, mem: *const c_void, prop_name: u32, prop_size: usize, prop_value: *mut c_void, prop_size_ret: *mut usize);
            Program [0] urProgramCreateWithIL(context: ur_context_handle_t, il: *const c_void, length: usize, properties: *const c_void, program: *mut ur_program_handle_t);
            Program [1] urProgramCreateWithBinary(context: ur_context_handle_t, num_devices: u32, devices: *mut ur_device_handle_t, lengths: *mut usize, binaries: *mut *const u8, properties: *const c_void, program: *mut ur_program_handle_t);
            Program [2] urProgramBuild(context: ur_context_handle_t, program: ur_program_handle_t, options: *const c_char);
            Program [3] urProgramCompile(context: ur_context_handle_t, program: ur_program_handle_t, options: *const c_char);
            Program [4] urProgramLink(context: ur_context_handle_t, count: u32, programs: *const ur_program_handle_t, options: *const c_char, program: *mut ur_program_handle_t);
            Program [5] urProgramRetain(program: ur_program_handle_t);
            Program [6] urProgramRelease(program: ur_program_handle_t);
            Program [8] urProgramGetGlobalVariablePointer(device: ur_device_handle_t, program: ur_program_handle_t, name: *const c_char, size: *mut usize, pointer: *mut *mut c_void);
            Program [9] urProgramGetInfo(program: ur_program_handle_t, prop_name: u32, prop_size: usize, prop_value: *mut c_void, prop_size_ret: *mut usize);
            Program [10] urProgramGetBuildInfo(program: ur_program_handle_t, device: ur_device_handle_t, prop_name: u32, prop_size: usize, prop_value: *mut c_void, prop_size_ret: *mut usize);
            Program [11] urProgramSetSpecializationConstants(program: ur_program_handle_t, count: u32, spec_constants: *const ur_specialization_constant_info_t);
            Program [12] urProgramGetNativeHandle(program: ur_program_handle_t, native_program: *mut ur_native_handle_t);
            Program [13] urProgramCreateWithNativeHandle(native_program: ur_native_handle_t, context: ur_context_handle_t, properties: *const ur_native_properties_t, program: *mut ur_program_handle_t);
            Kernel [0] urKernelCreate(program: ur_program_handle_t, kernel_name: *const c_char, kernel: *mut ur_kernel_handle_t);
            Kernel [1] urKernelGetInfo(kernel: ur_kernel_handle_t, prop_name: u32, prop_size: usize, prop_value: *mut c_void, prop_size_ret: *mut usize);
            Kernel [2] urKernelGetGroupInfo(kernel: ur_kernel_handle_t, device: ur_device_handle_t, prop_name: u32, prop_size: usize, prop_value: *mut c_void, prop_size_ret: *mut usize);
            Kernel [3] urKernelGetSubGroupInfo(kernel: ur_kernel_handle_t, device: ur_device_handle_t, prop_name: u32, prop_size: usize, prop_value: *mut c_void, prop_size_ret: *mut usize);
            Kernel [4] urKernelRetain(kernel: ur_kernel_handle_t);
            Kernel [5] urKernelRelease(kernel: ur_kernel_handle_t);
            Kernel [6] urKernelGetNativeHandle(kernel: ur_kernel_handle_t, native_kernel: *mut ur_native_handle_t);
            Kernel [7] urKernelCreateWithNativeHandle(native_kernel: ur_native_handle_t, context: ur_context_handle_t, program: ur_program_handle_t, properties: *const ur_native_properties_t, kernel: *mut ur_kernel_handle_t);
            Kernel [9 9 9 _] urKernelSetArgValue(kernel: ur_kernel_handle_t, arg_index: u32, arg_size: usize, properties: *const c_void, arg_value: *const c_void);
            Kernel [10 10 10 _] urKernelSetArgLocal(kernel: ur_kernel_handle_t, arg_index: u32, arg_size: usize, properties: *const c_void);
            Kernel [11 11 11 _] urKernelSetArgPointer(kernel: ur_kernel_handle_t, arg_index: u32, properties: *const c_void, arg_value: *const c_void);
            Kernel [13 13 13 _] urKernelSetArgSampler(kernel: ur_kernel_handle_t, arg_index: u32, properties: *const c_void, arg_value: ur_sampler_handle_t);
            Kernel [14 14 14 _] urKernelSetArgMemObj(kernel: ur_kernel_handle_t, arg_index: u32, properties: *const c_void, arg_value: ur_mem_handle_t);
            Kernel [12 12 12 10] urKernelSetExecInfo(kernel: ur_kernel_handle_t, prop_name: u32, prop_size: usize, properties: *const c_void, prop_value: *const c_void);
            Event [0] urEventGetInfo(event: ur_event_handle_t, prop_name: u32, prop_size: usize, prop_value: *mut c_void, prop_size_ret: *mut usize);
            Event [1] urEventGetProfilingInfo(event: ur_event_handle_t, prop_name: u32, prop_size: usize, prop_value: *mut c_void, prop_size_ret: *mut usize);
            Event [2] urEventWait(num_events: u32, event_wait_list: *const ur_event_handle_t);
            Event [3] urEventRetain(event: ur_event_handle_t);
            Event [4] urEventRelease(event: ur_event_handle_t);
            Event [5] urEventGetNativeHandle(event: ur_event_handle_t, native_event: *mut ur_native_handle_t);
            Event [6] urEventCreateWithNativeHandle(native_event: ur_native_handle_t, context: ur_context_handle_t, properties: *const ur_native_properties_t, event: *mut ur_event_handle_t);
            Event [7] urEventSetCallback(event: ur_event_handle_t, exec_status: u32, notify: ur_event_callback_t, user_data: *mut c_void);
            Enqueue [0 _ _ _] urEnqueueKernelLaunch_a(queue: ur_queue_handle_t, kernel: ur_kernel_handle_t, work_dim: u32, global_work_offset: *const usize, global_work_size: *const usize, local_work_size: *const usize, num_events_in_wait_list: u32, event_wait_list: *const ur_event_handle_t, event: *mut ur_event_handle_t);
            Enqueue [_ 0 _ _] urEnqueueKernelLaunch_b(queue: ur_queue_handle_t, kernel: ur_kernel_handle_t, work_dim: u32, global_work_offset: *const usize, global_work_size: *const usize, local_work_size: *const usize, num_props_in_launch_prop_list: u32, launch_prop_list: *const c_void, num_events_in_wait_list: u32, event_wait_list: *const ur_event_handle_t, event: *mut ur_event_handle_t);
            Enqueue [_ _ 0 _] urEnqueueKernelLaunch_c(queue: ur_queue_handle_t, kernel: ur_kernel_handle_t, work_dim: u32, global_work_offset: *const usize, global_work_size: *const usize, local_work_size: *const usize, launch_prop_list: *const c_void, num_events_in_wait_list: u32, event_wait_list: *const ur_event_handle_t, event: *mut ur_event_handle_t);
            Enqueue [1 1 1 0] urEnqueueEventsWait(queue: ur_queue_handle_t, num_events_in_wait_list: u32, event_wait_list: *const ur_event_handle_t, event: *mut ur_event_handle_t);
            Enqueue [2 2 2 1] urEnqueueEventsWaitWithBarrier(queue: ur_queue_handle_t, num_events_in_wait_list: u32, event_wait_list: *const ur_event_handle_t, event: *mut ur_event_handle_t);
            Enqueue [3 3 3 2] urEnqueueMemBufferRead(queue: ur_queue_handle_t, buffer: ur_mem_handle_t, blocking_read: bool, offset: usize, size: usize, dst: *mut c_void, num_events_in_wait_list: u32, event_wait_list: *const ur_event_handle_t, event: *mut ur_event_handle_t);
            Enqueue [4 4 4 3] urEnqueueMemBufferWrite(queue: ur_queue_handle_t, buffer: ur_mem_handle_t, blocking_write: bool, offset: usize, size: usize, src: *const c_void, num_events_in_wait_list: u32, event_wait_list: *const ur_event_handle_t, event: *mut ur_event_handle_t);
            Enqueue [5 5 5 4] urEnqueueMemBufferReadRect(queue: ur_queue_handle_t, buffer: ur_mem_handle_t, blocking_read: bool, buffer_origin: ur_rect_offset_t, host_origin: ur_rect_offset_t, region: ur_rect_region_t, buffer_row_pitch: usize, buffer_slice_pitch: usize, host_row_pitch: usize, host_slice_pitch: usize, dst: *mut c_void, num_events_in_wait_list: u32, event_wait_list: *const ur_event_handle_t, event: *mut ur_event_handle_t);
            Enqueue [6 6 6 5] urEnqueueMemBufferWriteRect(queue: ur_queue_handle_t, buffer: ur_mem_handle_t, blocking_write: bool, buffer_origin: ur_rect_offset_t, host_origin: ur_rect_offset_t, region: ur_rect_region_t, buffer_row_pitch: usize, buffer_slice_pitch: usize, host_row_pitch: usize, host_slice_pitch: usize, src: *mut c_void, num_events_in_wait_list: u32, event_wait_list: *const ur_event_handle_t, event: *mut ur_event_handle_t);
            Enqueue [7 7 7 6] urEnqueueMemBufferCopy(queue: ur_queue_handle_t, buffer_src: ur_mem_handle_t, buffer_dst: ur_mem_handle_t, src_offset: usize, dst_offset: usize, size: usize, num_events_in_wait_list: u32, event_wait_list: *const ur_event_handle_t, event: *mut ur_event_handle_t);
            Enqueue [8 8 8 7] urEnqueueMemBufferCopyRect(queue: ur_queue_handle_t, buffer_src: ur_mem_handle_t, buffer_dst: ur_mem_handle_t, src_origin: ur_rect_offset_t, dst_origin: ur_rect_offset_t, region: ur_rect_region_t, src_row_pitch: usize, src_slice_pitch: usize, dst_row_pitch: usize, dst_slice_pitch: usize, num_events_in_wait_list: u32, event_wait_list: *const ur_event_handle_t, event: *mut ur_event_handle_t);
            Enqueue [9 9 9 8] urEnqueueMemBufferFill(queue: ur_queue_handle_t, buffer: ur_mem_handle_t, pattern: *const c_void, pattern_size: usize, offset: usize, size: usize, num_events_in_wait_list: u32, event_wait_list: *const ur_event_handle_t, event: *mut ur_event_handle_t);
            Enqueue [10 10 10 9] urEnqueueMemImageRead(queue: ur_queue_handle_t, image: ur_mem_handle_t, blocking_read: bool, origin: ur_rect_offset_t, region: ur_rect_region_t, row_pitch: usize, slice_pitch: usize, dst: *mut c_void, num_events_in_wait_list: u32, event_wait_list: *const ur_event_handle_t, event: *mut ur_event_handle_t);
            Enqueue [11 11 11 10] urEnqueueMemImageWrite(queue: ur_queue_handle_t, image: ur_mem_handle_t, blocking_write: bool, origin: ur_rect_offset_t, region: ur_rect_region_t, row_pitch: usize, slice_pitch: usize, src: *mut c_void, num_events_in_wait_list: u32, event_wait_list: *const ur_event_handle_t, event: *mut ur_event_handle_t);
            Enqueue [12 12 12 11] urEnqueueMemImageCopy(queue: ur_queue_handle_t, image_src: ur_mem_handle_t, image_dst: ur_mem_handle_t, src_origin: ur_rect_offset_t, dst_origin: ur_rect_offset_t, region: ur_rect_region_t, num_events_in_wait_list: u32, event_wait_list: *const ur_event_handle_t, event: *mut ur_event_handle_t);
            Enqueue [13 13 13 12] urEnqueueMemBufferMap(queue: ur_queue_handle_t, buffer: ur_mem_handle_t, blocking_map: bool, map_flags: u32, offset: usize, size: usize, num_events_in_wait_list: u32, event_wait_list: *const ur_event_handle_t, event: *mut ur_event_handle_t, ret_map: *mut *mut c_void);
            Enqueue [14 14 14 13] urEnqueueMemUnmap(queue: ur_queue_handle_t, mem: ur_mem_handle_t, mapped_ptr: *mut c_void, num_events_in_wait_list: u32, event_wait_list: *const ur_event_handle_t, event: *mut ur_event_handle_t);
            Enqueue [15 15 15 14] urEnqueueUSMFill(queue: ur_queue_handle_t, mem: *mut c_void, pattern_size: usize, pattern: *const c_void, size: usize, num_events_in_wait_list: u32, event_wait_list: *const ur_event_handle_t, event: *mut ur_event_handle_t);
            Enqueue [16 16 16 15] urEnqueueUSMMemcpy(queue: ur_queue_handle_t, blocking: bool, dst: *mut c_void, src: *const c_void, size: usize, num_events_in_wait_list: u32, event_wait_list: *const ur_event_handle_t, event: *mut ur_event_handle_t);
            Enqueue [17 17 17 16] urEnqueueUSMPrefetch(queue: ur_queue_handle_t, mem: *const c_void, size: usize, flags: u32, num_events_in_wait_list: u32, event_wait_list: *const ur_event_handle_t, event: *mut ur_event_handle_t);
            Enqueue [18 18 18 17] urEnqueueUSMAdvise(queue: ur_queue_handle_t, mem: *const c_void, size: usize, advice: u32, event: *mut ur_event_handle_t);
            EnqueueExp [_ _ _ 0] urEnqueueKernelLaunchWithArgsExp(queue: ur_queue_handle_t, kernel: ur_kernel_handle_t, work_dim: u32, global_work_offset: *const usize, global_work_size: *const usize, local_work_size: *const usize, num_args: u32, args: *const ur_exp_kernel_arg_properties_t, launch_prop_list: *const c_void, num_events_in_wait_list: u32, event_wait_list: *const ur_event_handle_t, event: *mut ur_event_handle_t);
        }
    };
}

/// The places of a line, one for each form.
#[macro_export]
macro_rules! places {
    ($everywhere:tt) => {
        [$crate::place!($everywhere); 4]
    };
    ($($place:tt)+) => {
        [$($crate::place!($place)),+]
    };
}

/// A place of a line.
#[doc(hidden)]
#[macro_export]
macro_rules! place {
    (_) => {
        None
    };
    ($place:literal) => {
        Some($place)
    };
}
