# SPDX-License-Identifier: Apache-2.0
# One CMake target per folder: millrace_<name>, for use in this tree; Components.cmake makes what others link of them. Every compile and link
# option of the project is set here.

add_library(millrace_options INTERFACE)
target_compile_features(millrace_options INTERFACE cxx_std_23)
if(MILLRACE_DEVELOPER_WARNINGS)
  target_compile_options(millrace_options INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align -Werror
    -Wno-missing-field-initializers)  # options structs are filled by name; what is not named has its default
endif()
target_compile_options(millrace_options INTERFACE -fno-omit-frame-pointer)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(millrace_options INTERFACE -Wthread-safety -Wdangling)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(millrace_options INTERFACE -Wno-restrict)  # gcc 12 misreads operator+ of strings (its bug 105651)
endif()
target_include_directories(millrace_options INTERFACE
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>"
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>")
# Shown is what include/millrace/ declares, by a pragma around each header's declarations (ADR-0026).
target_compile_options(millrace_options INTERFACE -fvisibility=hidden)
if(MILLRACE_SANITIZE)
  target_compile_options(millrace_options INTERFACE -fsanitize=${MILLRACE_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(millrace_options INTERFACE -fsanitize=${MILLRACE_SANITIZE})
endif()
find_program(MILLRACE_MOLD mold)
if(MILLRACE_MOLD)
  target_link_options(millrace_options INTERFACE -fuse-ld=mold)
endif()

# millrace_library(NAME SOURCES a.cc ... [DEPENDS base ack ...] [LINK fmt::fmt ...])
# DEPENDS names folders of this project (public); LINK names foreign libraries, which stay private.
function(millrace_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  millrace_folder_wanted(${name} wanted)
  if(NOT wanted)
    return()
  endif()
  if(ARG_SOURCES)
    add_library(millrace_${name} STATIC ${ARG_SOURCES})
    target_link_libraries(millrace_${name} PUBLIC millrace_options PRIVATE ${ARG_LINK})
    set(scope PUBLIC)
  else()
    add_library(millrace_${name} INTERFACE)
    target_link_libraries(millrace_${name} INTERFACE millrace_options ${ARG_LINK})
    set(scope INTERFACE)
  endif()
  foreach(part ${ARG_DEPENDS})
    target_link_libraries(millrace_${name} ${scope} millrace_${part})
  endforeach()
  if(BUILD_SHARED_LIBS)
    set_property(TARGET millrace_${name} PROPERTY POSITION_INDEPENDENT_CODE ON)
  endif()
endfunction()

# millrace_program(NAME SOURCES ... [DEPENDS ...] [LINK ...]): an executable in ${CMAKE_BINARY_DIR}/bin.
function(millrace_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
  target_link_libraries(${name} PRIVATE millrace_options ${ARG_LINK})
  foreach(part ${ARG_DEPENDS})
    target_link_libraries(${name} PRIVATE millrace_${part})
  endforeach()
endfunction()

# millrace_test(NAME SOURCES x_test.cc ... [DEPENDS ...] [LINK ...] [LABELS unit|property|...] [TIMEOUT s]):
# a gtest program; each of its cases is a ctest entry with the labels given (default: unit).
function(millrace_test name)
  if(NOT MILLRACE_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPENDS;LINK;LABELS" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  # A test's own code is no hot path, and optimising gtest's and rapidcheck's templates takes as long as all the rest.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Debug>:-O0>)
  target_link_libraries(${name} PRIVATE millrace_options GTest::gtest GTest::gmock GTest::gtest_main ${ARG_LINK})
  foreach(part ${ARG_DEPENDS})
    target_link_libraries(${name} PRIVATE millrace_${part})
  endforeach()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT ${ARG_TIMEOUT})
  # Said to ctest itself, because gtest_discover_tests keeps only the first of several labels.
  set(labels_file ${CMAKE_CURRENT_BINARY_DIR}/${name}_labels.cmake)
  file(CONFIGURE OUTPUT ${labels_file} CONTENT "foreach(case IN LISTS ${name}_TESTS)
  set_tests_properties(\"\${case}\" PROPERTIES LABELS \"${ARG_LABELS}\")
endforeach()
" @ONLY)
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${labels_file})
endfunction()

# millrace_allocation_test(NAME ...): a millrace_test whose sources replace operator new to count; a program of its own,
# and none under ThreadSanitizer, whose runtime brings the operator new that it needs.
function(millrace_allocation_test name)
  if(NOT MILLRACE_SANITIZE MATCHES "thread")
    millrace_test(${name} ${ARGN})
  endif()
endfunction()

# millrace_fuzz(NAME BODY x_fuzz.cc CORPUS dir [DEPENDS ...]): with MILLRACE_BUILD_FUZZ a libFuzzer program, in every test build
# a program that runs the same body over the files of the corpus.
function(millrace_fuzz name)
  cmake_parse_arguments(ARG "" "BODY;CORPUS" "DEPENDS;LINK" ${ARGN})
  set(parts ${ARG_DEPENDS})
  list(TRANSFORM parts PREPEND millrace_)
  if(MILLRACE_BUILD_FUZZ)
    add_executable(${name} ${ARG_BODY})
    target_link_libraries(${name} PRIVATE millrace_options ${parts} ${ARG_LINK})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  elseif(MILLRACE_BUILD_TESTS)
    add_executable(${name}_corpus ${ARG_BODY} ${PROJECT_SOURCE_DIR}/fuzz/corpus_main.cc)
    target_link_libraries(${name}_corpus PRIVATE millrace_options ${parts} ${ARG_LINK})
    add_test(NAME ${name}.corpus COMMAND ${name}_corpus ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_CORPUS})
    set_tests_properties(${name}.corpus PROPERTIES LABELS fuzz_corpus TIMEOUT 120)
  endif()
endfunction()
