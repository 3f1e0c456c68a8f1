# SPDX-License-Identifier: Apache-2.0
# find_package(openqnn [VERSION] [COMPONENTS Cpu Htp Lpai Gpu System]), with CMAKE_PREFIX_PATH or openqnn_ROOT set to the tree.
#
#   openqnn::openqnn        target: include folders and the loader; backends are opened at run time
#   openqnn::cdsprpc        target: libcdsprpc.so (rpcmem), for programs that link it
#   openqnn_INCLUDE_DIRS, openqnn_LIBRARY_DIR, openqnn_TOOL_DIR
#   openqnn_<component>_LIBRARY   path of libQnn<component>.so, when it is there
get_filename_component(_openqnn_file "${CMAKE_CURRENT_LIST_FILE}" REALPATH)
get_filename_component(_openqnn_root "${_openqnn_file}/../../../.." ABSOLUTE)

set(openqnn_INCLUDE_DIRS "${_openqnn_root}/include/QNN" "${_openqnn_root}/include")
set(openqnn_LIBRARY_DIR "${_openqnn_root}/lib/x86_64-linux-clang")
set(openqnn_TOOL_DIR "${_openqnn_root}/bin/x86_64-linux-clang")

if(NOT TARGET openqnn::openqnn)
  add_library(openqnn::openqnn INTERFACE IMPORTED)
  set_target_properties(openqnn::openqnn PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${openqnn_INCLUDE_DIRS}"
    INTERFACE_LINK_LIBRARIES "${CMAKE_DL_LIBS}")
  add_library(openqnn::cdsprpc SHARED IMPORTED)
  set_target_properties(openqnn::cdsprpc PROPERTIES
    IMPORTED_LOCATION "${openqnn_LIBRARY_DIR}/libcdsprpc.so"
    INTERFACE_INCLUDE_DIRECTORIES "${openqnn_INCLUDE_DIRS}")
endif()

foreach(_openqnn_part Cpu Htp Lpai Gpu System)
  set(openqnn_${_openqnn_part}_FOUND FALSE)
  if(EXISTS "${openqnn_LIBRARY_DIR}/libQnn${_openqnn_part}.so")
    set(openqnn_${_openqnn_part}_FOUND TRUE)
    set(openqnn_${_openqnn_part}_LIBRARY "${openqnn_LIBRARY_DIR}/libQnn${_openqnn_part}.so")
  endif()
endforeach()

foreach(_openqnn_part IN LISTS openqnn_FIND_COMPONENTS)
  if(openqnn_FIND_REQUIRED_${_openqnn_part} AND NOT openqnn_${_openqnn_part}_FOUND)
    set(openqnn_FOUND FALSE)
    set(openqnn_NOT_FOUND_MESSAGE
      "openqnn has no ${openqnn_LIBRARY_DIR}/libQnn${_openqnn_part}.so; components are Cpu, Htp, Lpai, Gpu and System")
  endif()
endforeach()
unset(_openqnn_part)
unset(_openqnn_root)
unset(_openqnn_file)
