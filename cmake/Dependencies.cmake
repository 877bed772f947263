# SPDX-License-Identifier: Apache-2.0
# What this build asks of the machine: the libraries of the components that are wanted, and no others. Libraries.cmake says what each
# is for; `./dev setup` installs what is missing.

# Copies that ./dev setup made of what distributions lack.
foreach(copy "aws_c_auth AWS_PREFIX" "arrow ARROW_FOLDER")
  separate_arguments(copy)
  list(GET copy 0 script)
  list(GET copy 1 name)
  execute_process(COMMAND bash ${CMAKE_CURRENT_LIST_DIR}/../tools/setup/${script}.sh --where
    OUTPUT_VARIABLE MILLRACE_${name} OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endforeach()
include(${CMAKE_CURRENT_LIST_DIR}/Libraries.cmake)

# millrace_require(COMPONENT TARGET...): without them there is no COMPONENT, and so no build where it is wanted.
function(millrace_require component)
  millrace_wanted(${component} wanted)
  if(NOT wanted)
    return()
  endif()
  foreach(target ${ARGN})
    millrace_find(${target})
    if(NOT TARGET ${target})
      millrace_known(${target} DEBIAN package)
      if(package)
        set(package "Install ${package}")
      else()
        set(package "Run ./dev setup build once")
      endif()
      message(FATAL_ERROR "Millrace's ${component} needs ${target}, which was not found. ${package}, name its place in CMAKE_PREFIX_PATH, "
        "or leave ${component} out by MILLRACE_COMPONENTS.")
    endif()
  endforeach()
endfunction()

# millrace_optional(COMPONENT TARGET RESULT): whether it is there and wanted.
function(millrace_optional component target result)
  millrace_wanted(${component} wanted)
  set(${result} FALSE PARENT_SCOPE)
  if(wanted)
    millrace_find(${target})
    if(TARGET ${target})
      set(${result} TRUE PARENT_SCOPE)
    else()
      message(STATUS "Millrace: ${target} was not found, ${ARGN} left out")
    endif()
  endif()
endfunction()

millrace_require(base Threads::Threads fmt::fmt)
millrace_require(core spdlog::spdlog yaml-cpp nlohmann_json::nlohmann_json simdjson::simdjson prometheus-cpp::core zstd::libzstd_shared ZLIB::ZLIB
  PkgConfig::isal PkgConfig::xxhash PkgConfig::httplib)
millrace_require(store AWS::aws-checksums OpenSSL::Crypto)
millrace_require(s3 AWS::aws-c-auth CURL::libcurl pugixml::pugixml)
millrace_require(iggy_client OpenSSL::SSL PkgConfig::xxhash)
if(MILLRACE_BUILD_CLI)
  millrace_require(core CLI11::CLI11 tomlplusplus::tomlplusplus)
endif()
if(MILLRACE_BUILD_TESTS)
  millrace_require(core GTest::gtest GTest::gmock rapidcheck)
endif()

# Codecs.
millrace_optional(core BZip2::BZip2 MILLRACE_CODEC_BZ2 "bz2 is")
millrace_optional(core LibLZMA::LibLZMA MILLRACE_CODEC_XZ "xz is")
millrace_find(LZ4::lz4)
set(MILLRACE_LZ4_TARGET PkgConfig::lz4)
if(TARGET LZ4::lz4)
  set(MILLRACE_LZ4_TARGET LZ4::lz4)
endif()
millrace_optional(core ${MILLRACE_LZ4_TARGET} MILLRACE_CODEC_LZ4 "lz4 is")

# Parts of transforms, which may be unwanted where they are found, too.
option(MILLRACE_JQ "jq in transforms, where libjq is found" ON)
option(MILLRACE_REGEX "Regexes in transforms, where RE2 is found" ON)
set(MILLRACE_TRANSFORM_JQ FALSE)
if(MILLRACE_JQ)
  millrace_optional(core MillraceJq MILLRACE_TRANSFORM_JQ "jq in transforms is")
endif()
set(MILLRACE_TRANSFORM_REGEX FALSE)
if(MILLRACE_REGEX)
  millrace_optional(core PkgConfig::re2 MILLRACE_TRANSFORM_REGEX "regexes in transforms are")
endif()

# Whole components, unless they are asked for by name.
foreach(component "kafka PkgConfig::rdkafka MILLRACE_KAFKA" "parquet MillraceArrow MILLRACE_PARQUET" "testing_gtest GTest::gmock MILLRACE_TESTING_GTEST")
  separate_arguments(component)
  list(GET component 0 name)
  if(name IN_LIST MILLRACE_COMPONENTS)
    list(GET component 1 target)
    millrace_require(${name} ${target})
  endif()
  millrace_optional(${component} "component ${name} is")
endforeach()
