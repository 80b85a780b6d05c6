# find_package(offkit) and target_link_libraries(app offkit::offkit). Lies in PREFIX/lib/cmake/offkit.
get_filename_component(_offkit_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET offkit::offkit)
  add_library(offkit::offkit SHARED IMPORTED)
  set_target_properties(offkit::offkit PROPERTIES
    IMPORTED_LOCATION "${_offkit_prefix}/lib/liboffkit.so.0"
    IMPORTED_SONAME "liboffkit.so.0"
    INTERFACE_INCLUDE_DIRECTORIES "${_offkit_prefix}/include")
endif()
unset(_offkit_prefix)
