//! The one list of OpenCL's functions.
//!
//! `for_each_slot!` hands the functions of a driver's table to another macro, in the table's order;
//! `for_each_extension!` those that are asked for by name. What is made from them (types, the record of functions, a
//! driver's own functions) follows from these lines alone.
//!
//! A line has the parameters as C has them, and what the function returns. Where that is a new object, it stands behind
//! `creates ->`, and the last parameter, `errcode_ret: *mut cl_int`, is left out.

/// Hands the functions of a driver's table to a macro, in the order of `CL/cl_icd.h`.
#[macro_export]
macro_rules! for_each_slot {
    ($callback:ident) => {
        $callback! {
            clGetPlatformIDs(num_entries: cl_uint, platforms: *mut cl_platform_id, num_platforms: *mut cl_uint) -> cl_int;
            clGetPlatformInfo(platform: cl_platform_id, param_name: cl_platform_info, param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize) -> cl_int;
            clGetDeviceIDs(platform: cl_platform_id, device_type: cl_device_type, num_entries: cl_uint, devices: *mut cl_device_id, num_devices: *mut cl_uint) -> cl_int;
            clGetDeviceInfo(device: cl_device_id, param_name: cl_device_info, param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize) -> cl_int;
            clCreateContext(properties: *const cl_context_properties, num_devices: cl_uint, devices: *const cl_device_id, pfn_notify: ContextNotify, user_data: *mut c_void) creates -> cl_context;
            clCreateContextFromType(properties: *const cl_context_properties, device_type: cl_device_type, pfn_notify: ContextNotify, user_data: *mut c_void) creates -> cl_context;
            clRetainContext(context: cl_context) -> cl_int;
            clReleaseContext(context: cl_context) -> cl_int;
            clGetContextInfo(context: cl_context, param_name: cl_context_info, param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize) -> cl_int;
            clCreateCommandQueue(context: cl_context, device: cl_device_id, properties: cl_command_queue_properties) creates -> cl_command_queue;
            clRetainCommandQueue(command_queue: cl_command_queue) -> cl_int;
            clReleaseCommandQueue(command_queue: cl_command_queue) -> cl_int;
            clGetCommandQueueInfo(command_queue: cl_command_queue, param_name: cl_command_queue_info, param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize) -> cl_int;
            clSetCommandQueueProperty(command_queue: cl_command_queue, properties: cl_command_queue_properties, enable: cl_bool, old_properties: *mut cl_command_queue_properties) -> cl_int;
            clCreateBuffer(context: cl_context, flags: cl_mem_flags, size: usize, host_ptr: *mut c_void) creates -> cl_mem;
            clCreateImage2D(context: cl_context, flags: cl_mem_flags, image_format: *const cl_image_format, image_width: usize, image_height: usize, image_row_pitch: usize, host_ptr: *mut c_void) creates -> cl_mem;
            clCreateImage3D(context: cl_context, flags: cl_mem_flags, image_format: *const cl_image_format, image_width: usize, image_height: usize, image_depth: usize, image_row_pitch: usize, image_slice_pitch: usize, host_ptr: *mut c_void) creates -> cl_mem;
            clRetainMemObject(memobj: cl_mem) -> cl_int;
            clReleaseMemObject(memobj: cl_mem) -> cl_int;
            clGetSupportedImageFormats(context: cl_context, flags: cl_mem_flags, image_type: cl_mem_object_type, num_entries: cl_uint, image_formats: *mut cl_image_format, num_image_formats: *mut cl_uint) -> cl_int;
            clGetMemObjectInfo(memobj: cl_mem, param_name: cl_mem_info, param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize) -> cl_int;
            clGetImageInfo(image: cl_mem, param_name: cl_image_info, param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize) -> cl_int;
            clCreateSampler(context: cl_context, normalized_coords: cl_bool, addressing_mode: cl_addressing_mode, filter_mode: cl_filter_mode) creates -> cl_sampler;
            clRetainSampler(sampler: cl_sampler) -> cl_int;
            clReleaseSampler(sampler: cl_sampler) -> cl_int;
            clGetSamplerInfo(sampler: cl_sampler, param_name: cl_sampler_info, param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize) -> cl_int;
            clCreateProgramWithSource(context: cl_context, count: cl_uint, strings: *mut *const c_char, lengths: *const usize) creates -> cl_program;
            clCreateProgramWithBinary(context: cl_context, num_devices: cl_uint, device_list: *const cl_device_id, lengths: *const usize, binaries: *mut *const u8, binary_status: *mut cl_int) creates -> cl_program;
            clRetainProgram(program: cl_program) -> cl_int;
            clReleaseProgram(program: cl_program) -> cl_int;
            clBuildProgram(program: cl_program, num_devices: cl_uint, device_list: *const cl_device_id, options: *const c_char, pfn_notify: ProgramNotify, user_data: *mut c_void) -> cl_int;
            clUnloadCompiler() -> cl_int;
            clGetProgramInfo(program: cl_program, param_name: cl_program_info, param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize) -> cl_int;
            clGetProgramBuildInfo(program: cl_program, device: cl_device_id, param_name: cl_program_build_info, param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize) -> cl_int;
            clCreateKernel(program: cl_program, kernel_name: *const c_char) creates -> cl_kernel;
            clCreateKernelsInProgram(program: cl_program, num_kernels: cl_uint, kernels: *mut cl_kernel, num_kernels_ret: *mut cl_uint) -> cl_int;
            clRetainKernel(kernel: cl_kernel) -> cl_int;
            clReleaseKernel(kernel: cl_kernel) -> cl_int;
            clSetKernelArg(kernel: cl_kernel, arg_index: cl_uint, arg_size: usize, arg_value: *const c_void) -> cl_int;
            clGetKernelInfo(kernel: cl_kernel, param_name: cl_kernel_info, param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize) -> cl_int;
            clGetKernelWorkGroupInfo(kernel: cl_kernel, device: cl_device_id, param_name: cl_kernel_work_group_info, param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize) -> cl_int;
            clWaitForEvents(num_events: cl_uint, event_list: *const cl_event) -> cl_int;
            clGetEventInfo(event: cl_event, param_name: cl_event_info, param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize) -> cl_int;
            clRetainEvent(event: cl_event) -> cl_int;
            clReleaseEvent(event: cl_event) -> cl_int;
            clGetEventProfilingInfo(event: cl_event, param_name: cl_profiling_info, param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize) -> cl_int;
            clFlush(command_queue: cl_command_queue) -> cl_int;
            clFinish(command_queue: cl_command_queue) -> cl_int;
            clEnqueueReadBuffer(command_queue: cl_command_queue, buffer: cl_mem, blocking_read: cl_bool, offset: usize, size: usize, ptr: *mut c_void, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueWriteBuffer(command_queue: cl_command_queue, buffer: cl_mem, blocking_write: cl_bool, offset: usize, size: usize, ptr: *const c_void, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueCopyBuffer(command_queue: cl_command_queue, src_buffer: cl_mem, dst_buffer: cl_mem, src_offset: usize, dst_offset: usize, size: usize, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueReadImage(command_queue: cl_command_queue, image: cl_mem, blocking_read: cl_bool, origin: *const usize, region: *const usize, row_pitch: usize, slice_pitch: usize, ptr: *mut c_void, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueWriteImage(command_queue: cl_command_queue, image: cl_mem, blocking_write: cl_bool, origin: *const usize, region: *const usize, input_row_pitch: usize, input_slice_pitch: usize, ptr: *const c_void, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueCopyImage(command_queue: cl_command_queue, src_image: cl_mem, dst_image: cl_mem, src_origin: *const usize, dst_origin: *const usize, region: *const usize, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueCopyImageToBuffer(command_queue: cl_command_queue, src_image: cl_mem, dst_buffer: cl_mem, src_origin: *const usize, region: *const usize, dst_offset: usize, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueCopyBufferToImage(command_queue: cl_command_queue, src_buffer: cl_mem, dst_image: cl_mem, src_offset: usize, dst_origin: *const usize, region: *const usize, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueMapBuffer(command_queue: cl_command_queue, buffer: cl_mem, blocking_map: cl_bool, map_flags: cl_map_flags, offset: usize, size: usize, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) creates -> *mut c_void;
            clEnqueueMapImage(command_queue: cl_command_queue, image: cl_mem, blocking_map: cl_bool, map_flags: cl_map_flags, origin: *const usize, region: *const usize, image_row_pitch: *mut usize, image_slice_pitch: *mut usize, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) creates -> *mut c_void;
            clEnqueueUnmapMemObject(command_queue: cl_command_queue, memobj: cl_mem, mapped_ptr: *mut c_void, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueNDRangeKernel(command_queue: cl_command_queue, kernel: cl_kernel, work_dim: cl_uint, global_work_offset: *const usize, global_work_size: *const usize, local_work_size: *const usize, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueTask(command_queue: cl_command_queue, kernel: cl_kernel, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueNativeKernel(command_queue: cl_command_queue, user_func: NativeKernel, args: *mut c_void, cb_args: usize, num_mem_objects: cl_uint, mem_list: *const cl_mem, args_mem_loc: *mut *const c_void, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueMarker(command_queue: cl_command_queue, event: *mut cl_event) -> cl_int;
            clEnqueueWaitForEvents(command_queue: cl_command_queue, num_events: cl_uint, event_list: *const cl_event) -> cl_int;
            clEnqueueBarrier(command_queue: cl_command_queue) -> cl_int;
            clGetExtensionFunctionAddress(func_name: *const c_char) -> *mut c_void;
            clCreateFromGLBuffer(context: cl_context, flags: cl_mem_flags, bufobj: c_uint) creates -> cl_mem;
            clCreateFromGLTexture2D(context: cl_context, flags: cl_mem_flags, target: c_uint, miplevel: c_int, texture: c_uint) creates -> cl_mem;
            clCreateFromGLTexture3D(context: cl_context, flags: cl_mem_flags, target: c_uint, miplevel: c_int, texture: c_uint) creates -> cl_mem;
            clCreateFromGLRenderbuffer(context: cl_context, flags: cl_mem_flags, renderbuffer: c_uint) creates -> cl_mem;
            clGetGLObjectInfo(memobj: cl_mem, gl_object_type: *mut cl_uint, gl_object_name: *mut c_uint) -> cl_int;
            clGetGLTextureInfo(memobj: cl_mem, param_name: cl_uint, param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize) -> cl_int;
            clEnqueueAcquireGLObjects(command_queue: cl_command_queue, num_objects: cl_uint, mem_objects: *const cl_mem, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueReleaseGLObjects(command_queue: cl_command_queue, num_objects: cl_uint, mem_objects: *const cl_mem, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clGetGLContextInfoKHR(properties: *const cl_context_properties, param_name: cl_uint, param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize) -> cl_int;
            // Only Windows has these, but they keep their places in the table on every system.
            // Their types are reduced to what C passes in the same way.
            clGetDeviceIDsFromD3D10KHR(platform: cl_platform_id, d3d_device_source: cl_uint, d3d_object: *mut c_void, d3d_device_set: cl_uint, num_entries: cl_uint, devices: *mut cl_device_id, num_devices: *mut cl_uint) -> cl_int;
            clCreateFromD3D10BufferKHR(context: cl_context, flags: cl_mem_flags, resource: *mut c_void) creates -> cl_mem;
            clCreateFromD3D10Texture2DKHR(context: cl_context, flags: cl_mem_flags, resource: *mut c_void, subresource: c_uint) creates -> cl_mem;
            clCreateFromD3D10Texture3DKHR(context: cl_context, flags: cl_mem_flags, resource: *mut c_void, subresource: c_uint) creates -> cl_mem;
            clEnqueueAcquireD3D10ObjectsKHR(command_queue: cl_command_queue, num_objects: cl_uint, mem_objects: *const cl_mem, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueReleaseD3D10ObjectsKHR(command_queue: cl_command_queue, num_objects: cl_uint, mem_objects: *const cl_mem, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clSetEventCallback(event: cl_event, command_exec_callback_type: cl_int, pfn_notify: EventNotify, user_data: *mut c_void) -> cl_int;
            clCreateSubBuffer(buffer: cl_mem, flags: cl_mem_flags, buffer_create_type: cl_buffer_create_type, buffer_create_info: *const c_void) creates -> cl_mem;
            clSetMemObjectDestructorCallback(memobj: cl_mem, pfn_notify: MemoryNotify, user_data: *mut c_void) -> cl_int;
            clCreateUserEvent(context: cl_context) creates -> cl_event;
            clSetUserEventStatus(event: cl_event, execution_status: cl_int) -> cl_int;
            clEnqueueReadBufferRect(command_queue: cl_command_queue, buffer: cl_mem, blocking_read: cl_bool, buffer_origin: *const usize, host_origin: *const usize, region: *const usize, buffer_row_pitch: usize, buffer_slice_pitch: usize, host_row_pitch: usize, host_slice_pitch: usize, ptr: *mut c_void, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueWriteBufferRect(command_queue: cl_command_queue, buffer: cl_mem, blocking_write: cl_bool, buffer_origin: *const usize, host_origin: *const usize, region: *const usize, buffer_row_pitch: usize, buffer_slice_pitch: usize, host_row_pitch: usize, host_slice_pitch: usize, ptr: *const c_void, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueCopyBufferRect(command_queue: cl_command_queue, src_buffer: cl_mem, dst_buffer: cl_mem, src_origin: *const usize, dst_origin: *const usize, region: *const usize, src_row_pitch: usize, src_slice_pitch: usize, dst_row_pitch: usize, dst_slice_pitch: usize, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clCreateSubDevicesEXT(in_device: cl_device_id, properties: *const cl_ulong, num_entries: cl_uint, out_devices: *mut cl_device_id, num_devices: *mut cl_uint) -> cl_int;
            clRetainDeviceEXT(device: cl_device_id) -> cl_int;
            clReleaseDeviceEXT(device: cl_device_id) -> cl_int;
            clCreateEventFromGLsyncKHR(context: cl_context, sync: *mut c_void) creates -> cl_event;
            clCreateSubDevices(in_device: cl_device_id, properties: *const cl_device_partition_property, num_devices: cl_uint, out_devices: *mut cl_device_id, num_devices_ret: *mut cl_uint) -> cl_int;
            clRetainDevice(device: cl_device_id) -> cl_int;
            clReleaseDevice(device: cl_device_id) -> cl_int;
            clCreateImage(context: cl_context, flags: cl_mem_flags, image_format: *const cl_image_format, image_desc: *const cl_image_desc, host_ptr: *mut c_void) creates -> cl_mem;
            clCreateProgramWithBuiltInKernels(context: cl_context, num_devices: cl_uint, device_list: *const cl_device_id, kernel_names: *const c_char) creates -> cl_program;
            clCompileProgram(program: cl_program, num_devices: cl_uint, device_list: *const cl_device_id, options: *const c_char, num_input_headers: cl_uint, input_headers: *const cl_program, header_include_names: *mut *const c_char, pfn_notify: ProgramNotify, user_data: *mut c_void) -> cl_int;
            clLinkProgram(context: cl_context, num_devices: cl_uint, device_list: *const cl_device_id, options: *const c_char, num_input_programs: cl_uint, input_programs: *const cl_program, pfn_notify: ProgramNotify, user_data: *mut c_void) creates -> cl_program;
            clUnloadPlatformCompiler(platform: cl_platform_id) -> cl_int;
            clGetKernelArgInfo(kernel: cl_kernel, arg_index: cl_uint, param_name: cl_kernel_arg_info, param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize) -> cl_int;
            clEnqueueFillBuffer(command_queue: cl_command_queue, buffer: cl_mem, pattern: *const c_void, pattern_size: usize, offset: usize, size: usize, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueFillImage(command_queue: cl_command_queue, image: cl_mem, fill_color: *const c_void, origin: *const usize, region: *const usize, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueMigrateMemObjects(command_queue: cl_command_queue, num_mem_objects: cl_uint, mem_objects: *const cl_mem, flags: cl_mem_migration_flags, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueMarkerWithWaitList(command_queue: cl_command_queue, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueBarrierWithWaitList(command_queue: cl_command_queue, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clGetExtensionFunctionAddressForPlatform(platform: cl_platform_id, func_name: *const c_char) -> *mut c_void;
            clCreateFromGLTexture(context: cl_context, flags: cl_mem_flags, target: c_uint, miplevel: c_int, texture: c_uint) creates -> cl_mem;
            clGetDeviceIDsFromD3D11KHR(platform: cl_platform_id, d3d_device_source: cl_uint, d3d_object: *mut c_void, d3d_device_set: cl_uint, num_entries: cl_uint, devices: *mut cl_device_id, num_devices: *mut cl_uint) -> cl_int;
            clCreateFromD3D11BufferKHR(context: cl_context, flags: cl_mem_flags, resource: *mut c_void) creates -> cl_mem;
            clCreateFromD3D11Texture2DKHR(context: cl_context, flags: cl_mem_flags, resource: *mut c_void, subresource: c_uint) creates -> cl_mem;
            clCreateFromD3D11Texture3DKHR(context: cl_context, flags: cl_mem_flags, resource: *mut c_void, subresource: c_uint) creates -> cl_mem;
            clCreateFromDX9MediaSurfaceKHR(context: cl_context, flags: cl_mem_flags, adapter_type: cl_uint, surface_info: *mut c_void, plane: cl_uint) creates -> cl_mem;
            clEnqueueAcquireD3D11ObjectsKHR(command_queue: cl_command_queue, num_objects: cl_uint, mem_objects: *const cl_mem, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueReleaseD3D11ObjectsKHR(command_queue: cl_command_queue, num_objects: cl_uint, mem_objects: *const cl_mem, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clGetDeviceIDsFromDX9MediaAdapterKHR(platform: cl_platform_id, num_media_adapters: cl_uint, media_adapters_type: *mut cl_uint, media_adapters: *mut c_void, media_adapter_set: cl_uint, num_entries: cl_uint, devices: *mut cl_device_id, num_devices: *mut cl_uint) -> cl_int;
            clEnqueueAcquireDX9MediaSurfacesKHR(command_queue: cl_command_queue, num_objects: cl_uint, mem_objects: *const cl_mem, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueReleaseDX9MediaSurfacesKHR(command_queue: cl_command_queue, num_objects: cl_uint, mem_objects: *const cl_mem, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clCreateFromEGLImageKHR(context: cl_context, egldisplay: *mut c_void, eglimage: *mut c_void, flags: cl_mem_flags, properties: *const isize) creates -> cl_mem;
            clEnqueueAcquireEGLObjectsKHR(command_queue: cl_command_queue, num_objects: cl_uint, mem_objects: *const cl_mem, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueReleaseEGLObjectsKHR(command_queue: cl_command_queue, num_objects: cl_uint, mem_objects: *const cl_mem, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clCreateEventFromEGLSyncKHR(context: cl_context, sync: *mut c_void, display: *mut c_void) creates -> cl_event;
            clCreateCommandQueueWithProperties(context: cl_context, device: cl_device_id, properties: *const cl_queue_properties) creates -> cl_command_queue;
            clCreatePipe(context: cl_context, flags: cl_mem_flags, pipe_packet_size: cl_uint, pipe_max_packets: cl_uint, properties: *const cl_pipe_properties) creates -> cl_mem;
            clGetPipeInfo(pipe: cl_mem, param_name: cl_pipe_info, param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize) -> cl_int;
            clSVMAlloc(context: cl_context, flags: cl_svm_mem_flags, size: usize, alignment: cl_uint) -> *mut c_void;
            clSVMFree(context: cl_context, svm_pointer: *mut c_void) -> ();
            clEnqueueSVMFree(command_queue: cl_command_queue, num_svm_pointers: cl_uint, svm_pointers: *mut *mut c_void, pfn_free_func: SvmNotify, user_data: *mut c_void, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueSVMMemcpy(command_queue: cl_command_queue, blocking_copy: cl_bool, dst_ptr: *mut c_void, src_ptr: *const c_void, size: usize, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueSVMMemFill(command_queue: cl_command_queue, svm_ptr: *mut c_void, pattern: *const c_void, pattern_size: usize, size: usize, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueSVMMap(command_queue: cl_command_queue, blocking_map: cl_bool, flags: cl_map_flags, svm_ptr: *mut c_void, size: usize, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueSVMUnmap(command_queue: cl_command_queue, svm_ptr: *mut c_void, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clCreateSamplerWithProperties(context: cl_context, sampler_properties: *const cl_sampler_properties) creates -> cl_sampler;
            clSetKernelArgSVMPointer(kernel: cl_kernel, arg_index: cl_uint, arg_value: *const c_void) -> cl_int;
            clSetKernelExecInfo(kernel: cl_kernel, param_name: cl_kernel_exec_info, param_value_size: usize, param_value: *const c_void) -> cl_int;
            // An extension's, but `CL/cl_icd.h` has a place for it between those of 2.0 and of 2.1.
            clGetKernelSubGroupInfoKHR(in_kernel: cl_kernel, in_device: cl_device_id, param_name: cl_kernel_sub_group_info, input_value_size: usize, input_value: *const c_void, param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize) -> cl_int;
            clCloneKernel(source_kernel: cl_kernel) creates -> cl_kernel;
            clCreateProgramWithIL(context: cl_context, il: *const c_void, length: usize) creates -> cl_program;
            clEnqueueSVMMigrateMem(command_queue: cl_command_queue, num_svm_pointers: cl_uint, svm_pointers: *mut *const c_void, sizes: *const usize, flags: cl_mem_migration_flags, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clGetDeviceAndHostTimer(device: cl_device_id, device_timestamp: *mut cl_ulong, host_timestamp: *mut cl_ulong) -> cl_int;
            clGetHostTimer(device: cl_device_id, host_timestamp: *mut cl_ulong) -> cl_int;
            clGetKernelSubGroupInfo(kernel: cl_kernel, device: cl_device_id, param_name: cl_kernel_sub_group_info, input_value_size: usize, input_value: *const c_void, param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize) -> cl_int;
            clSetDefaultDeviceCommandQueue(context: cl_context, device: cl_device_id, command_queue: cl_command_queue) -> cl_int;
            clSetProgramReleaseCallback(program: cl_program, pfn_notify: ProgramNotify, user_data: *mut c_void) -> cl_int;
            clSetProgramSpecializationConstant(program: cl_program, spec_id: cl_uint, spec_size: usize, spec_value: *const c_void) -> cl_int;
            clCreateBufferWithProperties(context: cl_context, properties: *const cl_mem_properties, flags: cl_mem_flags, size: usize, host_ptr: *mut c_void) creates -> cl_mem;
            clCreateImageWithProperties(context: cl_context, properties: *const cl_mem_properties, flags: cl_mem_flags, image_format: *const cl_image_format, image_desc: *const cl_image_desc, host_ptr: *mut c_void) creates -> cl_mem;
            clSetContextDestructorCallback(context: cl_context, pfn_notify: ContextNotifyEnd, user_data: *mut c_void) -> cl_int;
            clGetKernelSuggestedLocalWorkSize(command_queue: cl_command_queue, kernel: cl_kernel, work_dim: cl_uint, global_work_offset: *const usize, global_work_size: *const usize, suggested_local_work_size: *mut usize) -> cl_int;
        }
    };
}

/// Hands the functions that drivers have besides those of the table to a macro.
#[macro_export]
macro_rules! for_each_extension {
    ($callback:ident) => {
        $callback! {
            clHostMemAllocINTEL(context: cl_context, properties: *const cl_mem_properties_intel, size: usize, alignment: cl_uint) creates -> *mut c_void;
            clDeviceMemAllocINTEL(context: cl_context, device: cl_device_id, properties: *const cl_mem_properties_intel, size: usize, alignment: cl_uint) creates -> *mut c_void;
            clSharedMemAllocINTEL(context: cl_context, device: cl_device_id, properties: *const cl_mem_properties_intel, size: usize, alignment: cl_uint) creates -> *mut c_void;
            clMemFreeINTEL(context: cl_context, ptr: *mut c_void) -> cl_int;
            clMemBlockingFreeINTEL(context: cl_context, ptr: *mut c_void) -> cl_int;
            clGetMemAllocInfoINTEL(context: cl_context, ptr: *const c_void, param_name: cl_mem_info_intel, param_value_size: usize, param_value: *mut c_void, param_value_size_ret: *mut usize) -> cl_int;
            clSetKernelArgMemPointerINTEL(kernel: cl_kernel, arg_index: cl_uint, arg_value: *const c_void) -> cl_int;
            clEnqueueMemFillINTEL(command_queue: cl_command_queue, dst_ptr: *mut c_void, pattern: *const c_void, pattern_size: usize, size: usize, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueMemcpyINTEL(command_queue: cl_command_queue, blocking: cl_bool, dst_ptr: *mut c_void, src_ptr: *const c_void, size: usize, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueMemAdviseINTEL(command_queue: cl_command_queue, ptr: *const c_void, size: usize, advice: cl_mem_advice_intel, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueMigrateMemINTEL(command_queue: cl_command_queue, ptr: *const c_void, size: usize, flags: cl_mem_migration_flags, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueMemsetINTEL(command_queue: cl_command_queue, dst_ptr: *mut c_void, value: cl_int, size: usize, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clCreateBufferWithPropertiesINTEL(context: cl_context, properties: *const cl_mem_properties_intel, flags: cl_mem_flags, size: usize, host_ptr: *mut c_void) creates -> cl_mem;
            clCreateProgramWithILKHR(context: cl_context, il: *const c_void, length: usize) creates -> cl_program;
            clCreateCommandQueueWithPropertiesKHR(context: cl_context, device: cl_device_id, properties: *const cl_queue_properties_khr) creates -> cl_command_queue;
            clGetKernelSuggestedLocalWorkSizeKHR(command_queue: cl_command_queue, kernel: cl_kernel, work_dim: cl_uint, global_work_offset: *const usize, global_work_size: *const usize, suggested_local_work_size: *mut usize) -> cl_int;
            clIcdGetFunctionAddressForPlatformKHR(platform: cl_platform_id, func_name: *const c_char) -> *mut c_void;
            clIcdSetPlatformDispatchDataKHR(platform: cl_platform_id, dispatch_data: *mut c_void) -> cl_int;
            clIcdGetPlatformIDsKHR(num_entries: cl_uint, platforms: *mut cl_platform_id, num_platforms: *mut cl_uint) -> cl_int;
            clEnqueueReadGlobalVariableINTEL(command_queue: cl_command_queue, program: cl_program, name: *const c_char, blocking_read: cl_bool, size: usize, offset: usize, ptr: *mut c_void, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clEnqueueWriteGlobalVariableINTEL(command_queue: cl_command_queue, program: cl_program, name: *const c_char, blocking_write: cl_bool, size: usize, offset: usize, ptr: *const c_void, num_events_in_wait_list: cl_uint, event_wait_list: *const cl_event, event: *mut cl_event) -> cl_int;
            clGetDeviceGlobalVariablePointerINTEL(device: cl_device_id, program: cl_program, name: *const c_char, size_ret: *mut usize, pointer_ret: *mut *mut c_void) -> cl_int;
            clGetDeviceFunctionPointerINTEL(device: cl_device_id, program: cl_program, name: *const c_char, pointer_ret: *mut cl_ulong) -> cl_int;
        }
    };
}
