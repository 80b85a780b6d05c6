//! The one list of the interface's functions, in every revision.
//!
//! `for_each_function!` hands the list to another macro, so that everything made from it (names, types, the typed
//! record of functions, a plugin's tables) follows from these lines alone. The order means nothing: which function a
//! version has in which place is said by its [layout](crate::table::Layout).
//!
//! Releases changed some functions under the same name. A line is a function in its first revision, `a`; later ones
//! follow it behind `=>`, with their letter at the end of the name. A revision is another list of parameters, or the
//! same list with another meaning:
//!
//! | function | meaning |
//! |---|---|
//! | `piEventCreate` | `a`: the host completes the event; `b`: it is complete from the start |
//! | `piTearDown` | `a`: the parameter is null; `b`: it points to a `bool` that the plugin sets |
//! | `piextUSMEnqueueMemAdvise` | `a`: numbers, 0 for none; `b`: numbers, 0 to reset; `c`: bits |
//!
//! A line has the parameters as C has them. Behind those that are a function's own it says what the plugin side
//! does with the rest:
//!
//! | word | the last parameters are |
//! |---|---|
//! | `answers` | where the answer to an info query goes; the function returns the answer |
//! | `creates` | where the handle of the new object goes; the function returns the object |
//! | `submits` | a wait list and where the event goes; the function returns the command |
//! | `direct` | none: the function returns what C gets, without anything between |
//! | `unsupported` | none: no plugin made with this crate has the function |

macro_rules! for_each_function {
    ($callback:ident) => {
        $callback! {
            piPlatformsGet(num_entries: pi_uint32, platforms: *mut pi_platform, num_platforms: *mut pi_uint32);
            piPlatformGetInfo(platform: pi_platform, param_name: pi_platform_info) answers(param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize);
            piextPlatformGetNativeHandle(platform: pi_platform, native_handle: *mut pi_native_handle);
            piextPlatformCreateWithNativeHandle(native_handle: pi_native_handle, platform: *mut pi_platform);
            piDevicesGet(platform: pi_platform, device_type: pi_device_type, num_entries: pi_uint32, devices: *mut pi_device, num_devices: *mut pi_uint32);
            piDeviceGetInfo(device: pi_device, param_name: pi_device_info) answers(param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize);
            piDevicePartition(device: pi_device, properties: *const pi_device_partition_property, num_devices: pi_uint32, out_devices: *mut pi_device, out_num_devices: *mut pi_uint32);
            piDeviceRetain(device: pi_device);
            piDeviceRelease(device: pi_device);
            piextDeviceSelectBinary(device: pi_device, binaries: *mut pi_device_binary, num_binaries: pi_uint32, selected_binary_ind: *mut pi_uint32);
            piextGetDeviceFunctionPointer(device: pi_device, program: pi_program, function_name: *const c_char, function_pointer_ret: *mut pi_uint64) unsupported();
            piextDeviceGetNativeHandle(device: pi_device, native_handle: *mut pi_native_handle);
            // Not `creates`, which counts a reference: devices are there for good, and not counted.
            piextDeviceCreateWithNativeHandle(native_handle: pi_native_handle, platform: pi_platform, device: *mut pi_device);
            piContextCreate(properties: *const pi_context_properties, num_devices: pi_uint32, devices: *const pi_device, pfn_notify: pi_context_notify, user_data: *mut c_void) creates(ret_context: *mut pi_context);
            piContextGetInfo(context: pi_context, param_name: pi_context_info) answers(param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize);
            piContextRetain(context: pi_context);
            piContextRelease(context: pi_context);
            piextContextSetExtendedDeleter(context: pi_context, func: pi_context_extended_deleter, user_data: *mut c_void) unsupported();
            piextContextGetNativeHandle(context: pi_context, native_handle: *mut pi_native_handle);
            piextContextCreateWithNativeHandle(native_handle: pi_native_handle, num_devices: pi_uint32, devices: *const pi_device) creates(context: *mut pi_context)
                => piextContextCreateWithNativeHandle_b(native_handle: pi_native_handle, num_devices: pi_uint32, devices: *const pi_device, plugin_owns_native_handle: cxx_bool) creates(context: *mut pi_context);
            piQueueCreate(context: pi_context, device: pi_device, properties: pi_queue_properties) creates(queue: *mut pi_queue);
            piQueueGetInfo(command_queue: pi_queue, param_name: pi_queue_info) answers(param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize);
            piQueueFinish(command_queue: pi_queue);
            piQueueRetain(command_queue: pi_queue);
            piQueueRelease(command_queue: pi_queue);
            piextQueueGetNativeHandle(queue: pi_queue, native_handle: *mut pi_native_handle)
                => piextQueueGetNativeHandle_b(queue: pi_queue, native_handle: *mut pi_native_handle, native_handle_desc: *mut i32);
            // In `_b` the place for the queue is not the last parameter, which `creates` wants.
            piextQueueCreateWithNativeHandle(native_handle: pi_native_handle, context: pi_context) creates(queue: *mut pi_queue)
                => piextQueueCreateWithNativeHandle_b(native_handle: pi_native_handle, context: pi_context, queue: *mut pi_queue, plugin_owns_native_handle: cxx_bool)
                => piextQueueCreateWithNativeHandle_c(native_handle: pi_native_handle, context: pi_context, device: pi_device, plugin_owns_native_handle: cxx_bool) creates(queue: *mut pi_queue)
                => piextQueueCreateWithNativeHandle_d(native_handle: pi_native_handle, native_handle_desc: i32, context: pi_context, device: pi_device, plugin_owns_native_handle: cxx_bool, properties: *mut pi_queue_properties) creates(queue: *mut pi_queue);
            // The properties come behind the place for the buffer, which `creates` wants last.
            piMemBufferCreate(context: pi_context, flags: pi_mem_flags, size: usize, host_ptr: *mut c_void, ret_mem: *mut pi_mem, properties: *const pi_mem_properties);
            piMemImageCreate(context: pi_context, flags: pi_mem_flags, image_format: *const pi_image_format, image_desc: *const pi_image_desc, host_ptr: *mut c_void) creates(ret_mem: *mut pi_mem);
            piMemGetInfo(mem: pi_mem, param_name: pi_mem_object_info) answers(param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize);
            piMemImageGetInfo(image: pi_mem, param_name: pi_image_info) answers(param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize);
            piMemRetain(mem: pi_mem);
            piMemRelease(mem: pi_mem);
            piMemBufferPartition(buffer: pi_mem, flags: pi_mem_flags, buffer_create_type: pi_buffer_create_type, buffer_create_info: *mut c_void) creates(ret_mem: *mut pi_mem);
            piextMemGetNativeHandle(mem: pi_mem, native_handle: *mut pi_native_handle)
                => piextMemGetNativeHandle_b(mem: pi_mem, device: pi_device, native_handle: *mut pi_native_handle);
            piextMemCreateWithNativeHandle(native_handle: pi_native_handle, mem: *mut pi_mem) unsupported()
                => piextMemCreateWithNativeHandle_b(native_handle: pi_native_handle, context: pi_context, own_native_handle: cxx_bool) creates(mem: *mut pi_mem);
            piProgramCreate(context: pi_context, il: *const c_void, length: usize) creates(res_program: *mut pi_program);
            piclProgramCreateWithSource(context: pi_context, count: pi_uint32, strings: *mut *const c_char, lengths: *const usize) creates(ret_program: *mut pi_program);
            piProgramCreateWithBinary(context: pi_context, num_devices: pi_uint32, device_list: *const pi_device, lengths: *const usize, binaries: *mut *const u8, binary_status: *mut pi_int32) creates(ret_program: *mut pi_program)
                => piProgramCreateWithBinary_b(context: pi_context, num_devices: pi_uint32, device_list: *const pi_device, lengths: *const usize, binaries: *mut *const u8, num_metadata_entries: usize, metadata: *const pi_device_binary_property, binary_status: *mut pi_int32, ret_program: *mut pi_program);
            // Not `answers`: machine code is written behind pointers that the host passes.
            piProgramGetInfo(program: pi_program, param_name: pi_program_info, param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize);
            piProgramCompile(program: pi_program, num_devices: pi_uint32, device_list: *const pi_device, options: *const c_char, num_input_headers: pi_uint32, input_headers: *const pi_program, header_include_names: *mut *const c_char, pfn_notify: pi_program_notify, user_data: *mut c_void);
            piProgramBuild(program: pi_program, num_devices: pi_uint32, device_list: *const pi_device, options: *const c_char, pfn_notify: pi_program_notify, user_data: *mut c_void);
            // Not `creates`: a link that fails gives the host a program, too, for its log.
            piProgramLink(context: pi_context, num_devices: pi_uint32, device_list: *const pi_device, options: *const c_char, num_input_programs: pi_uint32, input_programs: *const pi_program, pfn_notify: pi_program_notify, user_data: *mut c_void, ret_program: *mut pi_program);
            piProgramGetBuildInfo(program: pi_program, device: pi_device, param_name: pi_program_build_info) answers(param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize);
            piProgramRetain(program: pi_program);
            piProgramRelease(program: pi_program);
            piextProgramSetSpecializationConstant(prog: pi_program, spec_id: pi_uint32, spec_size: usize, spec_value: *const c_void);
            piextProgramGetNativeHandle(program: pi_program, native_handle: *mut pi_native_handle);
            piextProgramCreateWithNativeHandle(native_handle: pi_native_handle, context: pi_context) creates(program: *mut pi_program)
                => piextProgramCreateWithNativeHandle_b(native_handle: pi_native_handle, context: pi_context, plugin_owns_native_handle: cxx_bool) creates(program: *mut pi_program);
            piKernelCreate(program: pi_program, kernel_name: *const c_char) creates(ret_kernel: *mut pi_kernel);
            piKernelSetArg(kernel: pi_kernel, arg_index: pi_uint32, arg_size: usize, arg_value: *const c_void);
            piKernelGetInfo(kernel: pi_kernel, param_name: pi_kernel_info) answers(param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize);
            piKernelGetGroupInfo(kernel: pi_kernel, device: pi_device, param_name: pi_kernel_group_info) answers(param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize);
            piKernelGetSubGroupInfo(kernel: pi_kernel, device: pi_device, param_name: pi_kernel_sub_group_info, input_value_size: usize, input_value: *const c_void) answers(param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize);
            piKernelRetain(kernel: pi_kernel);
            piKernelRelease(kernel: pi_kernel);
            piextKernelSetArgPointer(kernel: pi_kernel, arg_index: pi_uint32, arg_size: usize, arg_value: *const c_void);
            piKernelSetExecInfo(kernel: pi_kernel, value_name: pi_kernel_exec_info, param_value_size: usize, param_value: *const c_void);
            piEventCreate(context: pi_context) creates(ret_event: *mut pi_event)
                => piEventCreate_b(context: pi_context, ret_event: *mut pi_event);
            piEventGetInfo(event: pi_event, param_name: pi_event_info) answers(param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize);
            piEventGetProfilingInfo(event: pi_event, param_name: pi_profiling_info) answers(param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize);
            piEventsWait(num_events: pi_uint32, event_list: *const pi_event);
            piEventSetCallback(event: pi_event, command_exec_callback_type: pi_int32, pfn_notify: pi_event_notify, user_data: *mut c_void);
            piEventSetStatus(event: pi_event, execution_status: pi_int32);
            piEventRetain(event: pi_event);
            piEventRelease(event: pi_event);
            piextEventGetNativeHandle(event: pi_event, native_handle: *mut pi_native_handle);
            piextEventCreateWithNativeHandle(native_handle: pi_native_handle, event: *mut pi_event) unsupported()
                => piextEventCreateWithNativeHandle_b(native_handle: pi_native_handle, context: pi_context, own_native_handle: cxx_bool) creates(event: *mut pi_event);
            piSamplerCreate(context: pi_context, sampler_properties: *const pi_sampler_properties) creates(result_sampler: *mut pi_sampler);
            piSamplerGetInfo(sampler: pi_sampler, param_name: pi_sampler_info) answers(param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize);
            piSamplerRetain(sampler: pi_sampler);
            piSamplerRelease(sampler: pi_sampler);
            piEnqueueKernelLaunch(queue: pi_queue, kernel: pi_kernel, work_dim: pi_uint32, global_work_offset: *const usize, global_work_size: *const usize, local_work_size: *const usize) submits(num_events_in_wait_list: pi_uint32, event_wait_list: *const pi_event, event: *mut pi_event);
            piEnqueueNativeKernel(queue: pi_queue, user_func: pi_native_function, args: *mut c_void, cb_args: usize, num_mem_objects: pi_uint32, mem_list: *const pi_mem, args_mem_loc: *mut *const c_void, num_events_in_wait_list: pi_uint32, event_wait_list: *const pi_event, event: *mut pi_event) unsupported();
            piEnqueueEventsWait(command_queue: pi_queue) submits(num_events_in_wait_list: pi_uint32, event_wait_list: *const pi_event, event: *mut pi_event);
            piEnqueueEventsWaitWithBarrier(command_queue: pi_queue) submits(num_events_in_wait_list: pi_uint32, event_wait_list: *const pi_event, event: *mut pi_event);
            piEnqueueMemBufferRead(queue: pi_queue, buffer: pi_mem, blocking_read: pi_bool, offset: usize, size: usize, ptr: *mut c_void) submits(num_events_in_wait_list: pi_uint32, event_wait_list: *const pi_event, event: *mut pi_event);
            piEnqueueMemBufferReadRect(command_queue: pi_queue, buffer: pi_mem, blocking_read: pi_bool, buffer_offset: pi_buff_rect_offset, host_offset: pi_buff_rect_offset, region: pi_buff_rect_region, buffer_row_pitch: usize, buffer_slice_pitch: usize, host_row_pitch: usize, host_slice_pitch: usize, ptr: *mut c_void) submits(num_events_in_wait_list: pi_uint32, event_wait_list: *const pi_event, event: *mut pi_event);
            piEnqueueMemBufferWrite(command_queue: pi_queue, buffer: pi_mem, blocking_write: pi_bool, offset: usize, size: usize, ptr: *const c_void) submits(num_events_in_wait_list: pi_uint32, event_wait_list: *const pi_event, event: *mut pi_event);
            piEnqueueMemBufferWriteRect(command_queue: pi_queue, buffer: pi_mem, blocking_write: pi_bool, buffer_offset: pi_buff_rect_offset, host_offset: pi_buff_rect_offset, region: pi_buff_rect_region, buffer_row_pitch: usize, buffer_slice_pitch: usize, host_row_pitch: usize, host_slice_pitch: usize, ptr: *const c_void) submits(num_events_in_wait_list: pi_uint32, event_wait_list: *const pi_event, event: *mut pi_event);
            piEnqueueMemBufferCopy(command_queue: pi_queue, src_buffer: pi_mem, dst_buffer: pi_mem, src_offset: usize, dst_offset: usize, size: usize) submits(num_events_in_wait_list: pi_uint32, event_wait_list: *const pi_event, event: *mut pi_event);
            piEnqueueMemBufferCopyRect(command_queue: pi_queue, src_buffer: pi_mem, dst_buffer: pi_mem, src_origin: pi_buff_rect_offset, dst_origin: pi_buff_rect_offset, region: pi_buff_rect_region, src_row_pitch: usize, src_slice_pitch: usize, dst_row_pitch: usize, dst_slice_pitch: usize) submits(num_events_in_wait_list: pi_uint32, event_wait_list: *const pi_event, event: *mut pi_event);
            piEnqueueMemBufferFill(command_queue: pi_queue, buffer: pi_mem, pattern: *const c_void, pattern_size: usize, offset: usize, size: usize) submits(num_events_in_wait_list: pi_uint32, event_wait_list: *const pi_event, event: *mut pi_event);
            piEnqueueMemImageRead(command_queue: pi_queue, image: pi_mem, blocking_read: pi_bool, origin: pi_image_offset, region: pi_image_region, row_pitch: usize, slice_pitch: usize, ptr: *mut c_void) submits(num_events_in_wait_list: pi_uint32, event_wait_list: *const pi_event, event: *mut pi_event);
            piEnqueueMemImageWrite(command_queue: pi_queue, image: pi_mem, blocking_write: pi_bool, origin: pi_image_offset, region: pi_image_region, input_row_pitch: usize, input_slice_pitch: usize, ptr: *const c_void) submits(num_events_in_wait_list: pi_uint32, event_wait_list: *const pi_event, event: *mut pi_event);
            piEnqueueMemImageCopy(command_queue: pi_queue, src_image: pi_mem, dst_image: pi_mem, src_origin: pi_image_offset, dst_origin: pi_image_offset, region: pi_image_region) submits(num_events_in_wait_list: pi_uint32, event_wait_list: *const pi_event, event: *mut pi_event);
            piEnqueueMemImageFill(command_queue: pi_queue, image: pi_mem, fill_color: *const c_void, origin: *const usize, region: *const usize) submits(num_events_in_wait_list: pi_uint32, event_wait_list: *const pi_event, event: *mut pi_event);
            // The address comes behind the event, which `submits` wants last.
            piEnqueueMemBufferMap(command_queue: pi_queue, buffer: pi_mem, blocking_map: pi_bool, map_flags: pi_map_flags, offset: usize, size: usize, num_events_in_wait_list: pi_uint32, event_wait_list: *const pi_event, event: *mut pi_event, ret_map: *mut *mut c_void);
            piEnqueueMemUnmap(command_queue: pi_queue, memobj: pi_mem, mapped_ptr: *mut c_void) submits(num_events_in_wait_list: pi_uint32, event_wait_list: *const pi_event, event: *mut pi_event);
            piextUSMHostAlloc(result_ptr: *mut *mut c_void, context: pi_context, properties: *mut pi_usm_mem_properties, size: usize, alignment: pi_uint32);
            piextUSMDeviceAlloc(result_ptr: *mut *mut c_void, context: pi_context, device: pi_device, properties: *mut pi_usm_mem_properties, size: usize, alignment: pi_uint32);
            piextUSMSharedAlloc(result_ptr: *mut *mut c_void, context: pi_context, device: pi_device, properties: *mut pi_usm_mem_properties, size: usize, alignment: pi_uint32);
            piextUSMFree(context: pi_context, ptr: *mut c_void);
            piextUSMEnqueueMemset(queue: pi_queue, ptr: *mut c_void, value: pi_int32, count: usize) submits(num_events_in_waitlist: pi_uint32, events_waitlist: *const pi_event, event: *mut pi_event);
            piextUSMEnqueueMemcpy(queue: pi_queue, blocking: pi_bool, dst_ptr: *mut c_void, src_ptr: *const c_void, size: usize) submits(num_events_in_waitlist: pi_uint32, events_waitlist: *const pi_event, event: *mut pi_event);
            piextUSMEnqueuePrefetch(queue: pi_queue, ptr: *const c_void, size: usize, flags: pi_usm_migration_flags) submits(num_events_in_waitlist: pi_uint32, events_waitlist: *const pi_event, event: *mut pi_event);
            // Without `submits`, which has a wait list: this has an event alone.
            piextUSMEnqueueMemAdvise(queue: pi_queue, ptr: *const c_void, length: usize, advice: pi_mem_advice, event: *mut pi_event)
                => piextUSMEnqueueMemAdvise_b(queue: pi_queue, ptr: *const c_void, length: usize, advice: pi_mem_advice, event: *mut pi_event)
                => piextUSMEnqueueMemAdvise_c(queue: pi_queue, ptr: *const c_void, length: usize, advice: pi_mem_advice, event: *mut pi_event);
            piextUSMGetMemAllocInfo(context: pi_context, ptr: *const c_void, param_name: pi_mem_info) answers(param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize);
            piextKernelSetArgMemObj(kernel: pi_kernel, arg_index: pi_uint32, arg_value: *const pi_mem)
                => piextKernelSetArgMemObj_b(kernel: pi_kernel, arg_index: pi_uint32, arg_properties: *const pi_mem_obj_property, arg_value: *const pi_mem);
            piextKernelSetArgSampler(kernel: pi_kernel, arg_index: pi_uint32, arg_value: *const pi_sampler);
            piTearDown(plugin_parameter: *mut c_void)
                => piTearDown_b(plugin_parameter: *mut c_void);
            piQueueFlush(command_queue: pi_queue);
            piextKernelCreateWithNativeHandle(native_handle: pi_native_handle, context: pi_context, program: pi_program, plugin_owns_native_handle: cxx_bool) creates(kernel: *mut pi_kernel);
            piextKernelGetNativeHandle(kernel: pi_kernel, native_handle: *mut pi_native_handle);
            piextPluginGetOpaqueData(opaque_data_param: *mut c_void, opaque_data_return: *mut *mut c_void) unsupported();
            piextQueueCreate(context: pi_context, device: pi_device, properties: *mut pi_queue_properties, queue: *mut pi_queue);
            piextEnqueueReadHostPipe(queue: pi_queue, program: pi_program, pipe_symbol: *const c_char, blocking: pi_bool, ptr: *mut c_void, size: usize, num_events_in_wait_list: pi_uint32, event_wait_list: *const pi_event, event: *mut pi_event) unsupported();
            piextEnqueueWriteHostPipe(queue: pi_queue, program: pi_program, pipe_symbol: *const c_char, blocking: pi_bool, ptr: *mut c_void, size: usize, num_events_in_wait_list: pi_uint32, event_wait_list: *const pi_event, event: *mut pi_event) unsupported();
            // Its result is that of the call before: it must not count as a failure of its own,
            // which would replace the message.
            piPluginGetLastError(message: *mut *mut c_char) direct();
            piextUSMEnqueueFill2D(queue: pi_queue, ptr: *mut c_void, pitch: usize, pattern_size: usize, pattern: *const c_void, width: usize, height: usize) submits(num_events_in_wait_list: pi_uint32, event_wait_list: *const pi_event, event: *mut pi_event);
            piextUSMEnqueueMemset2D(queue: pi_queue, ptr: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize, num_events_in_wait_list: pi_uint32, event_wait_list: *const pi_event, event: *mut pi_event) unsupported();
            piextUSMEnqueueMemcpy2D(queue: pi_queue, blocking: pi_bool, dst_ptr: *mut c_void, dst_pitch: usize, src_ptr: *const c_void, src_pitch: usize, width: usize, height: usize, num_events_in_wait_list: pi_uint32, event_wait_list: *const pi_event, event: *mut pi_event) unsupported();
            piGetDeviceAndHostTimer(device: pi_device, device_time: *mut u64, host_time: *mut u64);
            piextEnqueueDeviceGlobalVariableWrite(queue: pi_queue, program: pi_program, name: *const c_char, blocking_write: pi_bool, count: usize, offset: usize, src: *const c_void) submits(num_events_in_wait_list: pi_uint32, event_wait_list: *const pi_event, event: *mut pi_event);
            piextEnqueueDeviceGlobalVariableRead(queue: pi_queue, program: pi_program, name: *const c_char, blocking_read: pi_bool, count: usize, offset: usize, dst: *mut c_void) submits(num_events_in_wait_list: pi_uint32, event_wait_list: *const pi_event, event: *mut pi_event);
            piextQueueCreate2(context: pi_context, device: pi_device, properties: *mut pi_queue_properties, queue: *mut pi_queue);
            piextQueueGetNativeHandle2(queue: pi_queue, native_handle: *mut pi_native_handle, native_handle_desc: *mut i32);
            piextQueueCreateWithNativeHandle2(native_handle: pi_native_handle, native_handle_desc: i32, context: pi_context, device: pi_device, plugin_owns_native_handle: cxx_bool, properties: *mut pi_queue_properties) creates(queue: *mut pi_queue);
            piextGetGlobalVariablePointer(device: pi_device, program: pi_program, global_variable_name: *const c_char, global_variable_size: *mut usize, global_variable_pointer_ret: *mut *mut c_void);
            piextMemImageCreateWithNativeHandle(native_handle: pi_native_handle, context: pi_context, own_native_handle: cxx_bool, image_format: *const pi_image_format, image_desc: *const pi_image_desc, img: *mut pi_mem) unsupported();
            piextKernelSuggestMaxCooperativeGroupCount(kernel: pi_kernel, local_work_size: usize, dynamic_shared_memory_size: usize, group_count_ret: *mut pi_uint32) unsupported();
            piextEnqueueCooperativeKernelLaunch(queue: pi_queue, kernel: pi_kernel, work_dim: pi_uint32, global_work_offset: *const usize, global_work_size: *const usize, local_work_size: *const usize, num_events_in_wait_list: pi_uint32, event_wait_list: *const pi_event, event: *mut pi_event) unsupported();
            piPluginGetBackendOption(platform: pi_platform, frontend_option: *const c_char, backend_option: *mut *const c_char);
            piextEnablePeerAccess(command_device: pi_device, peer_device: pi_device) unsupported();
            piextDisablePeerAccess(command_device: pi_device, peer_device: pi_device) unsupported();
            piextPeerAccessGetInfo(command_device: pi_device, peer_device: pi_device, attr: pi_peer_attr, param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize) unsupported();
            piextUSMImport(ptr: *const c_void, size: usize, context: pi_context) unsupported();
            piextUSMRelease(ptr: *const c_void, context: pi_context) unsupported();
            piextCommandBufferCreate(context: pi_context, device: pi_device, desc: *const pi_ext_command_buffer_desc, ret_command_buffer: *mut pi_ext_command_buffer) unsupported();
            piextCommandBufferRetain(command_buffer: pi_ext_command_buffer) unsupported();
            piextCommandBufferRelease(command_buffer: pi_ext_command_buffer) unsupported();
            piextCommandBufferFinalize(command_buffer: pi_ext_command_buffer) unsupported();
            piextCommandBufferNDRangeKernel(command_buffer: pi_ext_command_buffer, kernel: pi_kernel, work_dim: pi_uint32, global_work_offset: *const usize, global_work_size: *const usize, local_work_size: *const usize, num_sync_points_in_wait_list: pi_uint32, sync_point_wait_list: *const pi_ext_sync_point, sync_point: *mut pi_ext_sync_point) unsupported();
            piextCommandBufferMemcpyUSM(command_buffer: pi_ext_command_buffer, dst_ptr: *mut c_void, src_ptr: *const c_void, size: usize, num_sync_points_in_wait_list: pi_uint32, sync_point_wait_list: *const pi_ext_sync_point, sync_point: *mut pi_ext_sync_point) unsupported();
            piextCommandBufferMemBufferCopy(command_buffer: pi_ext_command_buffer, src_buffer: pi_mem, dst_buffer: pi_mem, src_offset: usize, dst_offset: usize, size: usize, num_sync_points_in_wait_list: pi_uint32, sync_point_wait_list: *const pi_ext_sync_point, sync_point: *mut pi_ext_sync_point) unsupported();
            piextCommandBufferMemBufferCopyRect(command_buffer: pi_ext_command_buffer, src_buffer: pi_mem, dst_buffer: pi_mem, src_origin: pi_buff_rect_offset, dst_origin: pi_buff_rect_offset, region: pi_buff_rect_region, src_row_pitch: usize, src_slice_pitch: usize, dst_row_pitch: usize, dst_slice_pitch: usize, num_sync_points_in_wait_list: pi_uint32, sync_point_wait_list: *const pi_ext_sync_point, sync_point: *mut pi_ext_sync_point) unsupported();
            piextCommandBufferMemBufferWrite(command_buffer: pi_ext_command_buffer, buffer: pi_mem, offset: usize, size: usize, ptr: *const c_void, num_sync_points_in_wait_list: pi_uint32, sync_point_wait_list: *const pi_ext_sync_point, sync_point: *mut pi_ext_sync_point) unsupported();
            piextCommandBufferMemBufferWriteRect(command_buffer: pi_ext_command_buffer, buffer: pi_mem, buffer_offset: pi_buff_rect_offset, host_offset: pi_buff_rect_offset, region: pi_buff_rect_region, buffer_row_pitch: usize, buffer_slice_pitch: usize, host_row_pitch: usize, host_slice_pitch: usize, ptr: *const c_void, num_sync_points_in_wait_list: pi_uint32, sync_point_wait_list: *const pi_ext_sync_point, sync_point: *mut pi_ext_sync_point) unsupported();
            piextCommandBufferMemBufferRead(command_buffer: pi_ext_command_buffer, buffer: pi_mem, offset: usize, size: usize, dst: *mut c_void, num_sync_points_in_wait_list: pi_uint32, sync_point_wait_list: *const pi_ext_sync_point, sync_point: *mut pi_ext_sync_point) unsupported();
            piextCommandBufferMemBufferReadRect(command_buffer: pi_ext_command_buffer, buffer: pi_mem, buffer_offset: pi_buff_rect_offset, host_offset: pi_buff_rect_offset, region: pi_buff_rect_region, buffer_row_pitch: usize, buffer_slice_pitch: usize, host_row_pitch: usize, host_slice_pitch: usize, ptr: *mut c_void, num_sync_points_in_wait_list: pi_uint32, sync_point_wait_list: *const pi_ext_sync_point, sync_point: *mut pi_ext_sync_point) unsupported();
            piextCommandBufferMemBufferFill(command_buffer: pi_ext_command_buffer, buffer: pi_mem, pattern: *const c_void, pattern_size: usize, offset: usize, size: usize, num_sync_points_in_wait_list: pi_uint32, sync_point_wait_list: *const pi_ext_sync_point, sync_point: *mut pi_ext_sync_point) unsupported();
            piextCommandBufferFillUSM(command_buffer: pi_ext_command_buffer, ptr: *mut c_void, pattern: *const c_void, pattern_size: usize, size: usize, num_sync_points_in_wait_list: pi_uint32, sync_point_wait_list: *const pi_ext_sync_point, sync_point: *mut pi_ext_sync_point) unsupported();
            piextCommandBufferPrefetchUSM(command_buffer: pi_ext_command_buffer, ptr: *const c_void, size: usize, flags: pi_usm_migration_flags, num_sync_points_in_wait_list: pi_uint32, sync_point_wait_list: *const pi_ext_sync_point, sync_point: *mut pi_ext_sync_point) unsupported();
            piextCommandBufferAdviseUSM(command_buffer: pi_ext_command_buffer, ptr: *const c_void, length: usize, advice: pi_mem_advice, num_sync_points_in_wait_list: pi_uint32, sync_point_wait_list: *const pi_ext_sync_point, sync_point: *mut pi_ext_sync_point) unsupported();
            piextEnqueueCommandBuffer(command_buffer: pi_ext_command_buffer, queue: pi_queue, num_events_in_wait_list: pi_uint32, event_wait_list: *const pi_event, event: *mut pi_event) unsupported();
            piextUSMPitchedAlloc(result_ptr: *mut *mut c_void, result_pitch: *mut usize, context: pi_context, device: pi_device, properties: *mut pi_usm_mem_properties, width_in_bytes: usize, height: usize, element_size_bytes: c_uint) unsupported();
            piextMemUnsampledImageHandleDestroy(context: pi_context, device: pi_device, handle: pi_image_handle) unsupported();
            piextMemSampledImageHandleDestroy(context: pi_context, device: pi_device, handle: pi_image_handle) unsupported();
            piextBindlessImageSamplerCreate(context: pi_context, sampler_properties: *const pi_sampler_properties, min_mipmap_level_clamp: f32, max_mipmap_level_clamp: f32, max_anisotropy: f32, result_sampler: *mut pi_sampler) unsupported();
            piextMemImageAllocate(context: pi_context, device: pi_device, image_format: *mut pi_image_format, image_desc: *mut pi_image_desc, ret_mem: *mut pi_image_mem_handle) unsupported();
            piextMemImageFree(context: pi_context, device: pi_device, memory_handle: pi_image_mem_handle) unsupported();
            piextMemUnsampledImageCreate(context: pi_context, device: pi_device, img_mem: pi_image_mem_handle, image_format: *mut pi_image_format, image_desc: *mut pi_image_desc, ret_mem: *mut pi_mem, ret_handle: *mut pi_image_handle) unsupported();
            piextMemSampledImageCreate(context: pi_context, device: pi_device, img_mem: pi_image_mem_handle, image_format: *mut pi_image_format, image_desc: *mut pi_image_desc, sampler: pi_sampler, ret_mem: *mut pi_mem, ret_handle: *mut pi_image_handle) unsupported();
            piextMemImageCopy(command_queue: pi_queue, dst_ptr: *mut c_void, src_ptr: *mut c_void, image_format: *const pi_image_format, image_desc: *const pi_image_desc, flags: pi_image_copy_flags, src_offset: pi_image_offset, dst_offset: pi_image_offset, copy_extent: pi_image_region, host_extent: pi_image_region, num_events_in_wait_list: pi_uint32, event_wait_list: *const pi_event, event: *mut pi_event) unsupported();
            piextMemImageGetInfo(mem_handle: pi_image_mem_handle, param_name: pi_image_info, param_value: *mut c_void, param_value_size_ret: *mut usize) unsupported();
            piextMemMipmapGetLevel(context: pi_context, device: pi_device, mip_mem: pi_image_mem_handle, level: c_uint, ret_mem: *mut pi_image_mem_handle) unsupported();
            piextMemMipmapFree(context: pi_context, device: pi_device, memory_handle: pi_image_mem_handle) unsupported();
            piextMemImportOpaqueFD(context: pi_context, device: pi_device, size: usize, file_descriptor: c_int, ret_handle: *mut pi_interop_mem_handle) unsupported();
            piextMemReleaseInterop(context: pi_context, device: pi_device, memory_handle: pi_interop_mem_handle) unsupported();
            piextMemMapExternalArray(context: pi_context, device: pi_device, image_format: *mut pi_image_format, image_desc: *mut pi_image_desc, mem_handle: pi_interop_mem_handle, ret_mem: *mut pi_image_mem_handle) unsupported();
            piextImportExternalSemaphoreOpaqueFD(context: pi_context, device: pi_device, file_descriptor: c_int, ret_handle: *mut pi_interop_semaphore_handle) unsupported();
            piextDestroyExternalSemaphore(context: pi_context, device: pi_device, sem_handle: pi_interop_semaphore_handle) unsupported();
            piextWaitExternalSemaphore(command_queue: pi_queue, sem_handle: pi_interop_semaphore_handle, num_events_in_wait_list: pi_uint32, event_wait_list: *const pi_event, event: *mut pi_event) unsupported();
            piextSignalExternalSemaphore(command_queue: pi_queue, sem_handle: pi_interop_semaphore_handle, num_events_in_wait_list: pi_uint32, event_wait_list: *const pi_event, event: *mut pi_event) unsupported();
        }
    };
}

pub(crate) use for_each_function;
