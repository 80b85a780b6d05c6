//! Kernel bundles: device code brought from state to state, run, and exchanged with the real SYCL runtime.
//!
//! What `sycl_ext_oneapi_syclbin` says, and where it is tested:
//!
//! | call, or error | test |
//! |---|---|
//! | a bundle of bytes, of a path, of all devices of a context | `states::bundles_go_from_input_to_object_to_executable`, `states::a_bundle_of_each_state_is_written_and_read_again` |
//! | kernels that no device takes are left out | `choices::each_state_takes_the_form_that_goes_with_it`, `features::kernels_that_need_what_a_device_lacks_are_left_out_in_every_state` |
//! | content of the same state | `states::a_bundle_of_each_state_is_written_and_read_again`, and all of `sycl` |
//! | `link`, of one bundle, of several, for devices | `states::bundles_go_from_input_to_object_to_executable` |
//! | `fast_link` | `choices::a_fast_link_takes_machine_code_where_all_that_it_needs_is_there` |
//! | not a SYCLBIN, another state, no devices, a file that cannot be read | `states::wrong_files_states_devices_and_contexts_are_refused` |
//! | a device of another context; contexts that differ in a link | the same |
//! | devices that are parts of a context's | `features::a_driver_builds_for_a_part_of_its_device`, and with the mock |
//! | no online compiler, no online linker | `features::devices_without_compiler_or_linker_and_what_they_refuse_are_errors` |
//! | what the device refuses to compile or build | the same |
//! | unresolved symbols, symbols that several export | `states::bundles_go_from_input_to_object_to_executable`, `states::a_symbol_that_two_bundles_define_is_an_error_unless_they_are_the_same`, `states::a_rule_says_which_bundle_supplies_a_symbol` |
//!
//! The choices of its implementation:
//!
//! | choice | test |
//! |---|---|
//! | native code or code for the device's compiler, by state; native code of any kind as an object | `choices::each_state_takes_the_form_that_goes_with_it` |
//! | an image is in the state of its bundle | `choices::machine_code_is_neither_compiled_nor_linked_with_itself` |
//! | parts by format in a link; no link where nothing is compiled | `choices::images_are_linked_by_their_format`, `choices::machine_code_is_neither_compiled_nor_linked_with_itself` |
//! | native code that imports is linked at once | `choices::machine_code_that_needs_other_machine_code_is_linked_at_once` |
//! | `-library-compilation` for Level Zero, where there is something to link | `choices::level_zero_is_told_of_code_that_others_need` |
//! | `No exported symbol "…" found in linked images` | `states::bundles_go_from_input_to_object_to_executable`, `choices::machine_code_that_needs_other_machine_code_is_linked_at_once` |
//! | files and code of the run-time compiler in one link | `sycl::files_of_both_compilers_are_linked_by_both_runtimes` |
//!
//! The groups of its end-to-end tests:
//!
//! | group | test |
//! |---|---|
//! | machine code from files, as object and executable, with symbols and without | `choices` |
//! | a kernel in each state | `states`, `sycl::bundles_travel_between_offkit_and_the_sycl_runtime` |
//! | dropped arguments, in each state | `features::arguments_that_the_compiler_dropped_may_be_given` |
//! | device globals, in each state | `globals`, `sycl::device_globals_travel_between_offkit_and_the_sycl_runtime` |
//! | optional kernel features, in each state | `features::kernels_that_need_what_a_device_lacks_are_left_out_in_every_state` |
//! | content and back: kernels, constants, architecture, both forms, several targets | `sycl::specialization_constants_reach_the_sycl_runtime`, `sycl::executables_of_the_sycl_runtime_run_on_its_driver`, `sycl::files_for_several_targets_travel_between_offkit_and_the_sycl_runtime` |
//! | links of inputs, objects, both; with code of the run-time compiler, either needing the other | `states`, `sycl::files_of_both_compilers_are_linked_by_both_runtimes` |
//! | links with images of the program | `features::images_of_a_program_are_linked_with_those_of_files` |
//! | links of files before | `features::files_are_linked_into_one_before` |
//! | addresses of functions | `features::functions_are_called_by_their_addresses_where_the_device_can` |
//! | addresses in memory | `features::a_kernel_follows_addresses_in_memory` |
//! | constants that collide | `features::constants_of_one_name_and_number_do_not_collide` |

mod choices;
mod constants;
mod features;
mod globals;
mod machine;
mod states;
mod sycl;
