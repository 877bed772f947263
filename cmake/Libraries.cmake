# SPDX-License-Identifier: Apache-2.0
# Every library Millrace does not write itself, in one place, with its reason, and how it is found. Read by Millrace's own build
# (Dependencies.cmake) and, installed, by what is built on it (millraceConfig.cmake), which asks only for what a component needs.

# millrace_foreign(TARGET DEBIAN package PACKAGE arguments of find_package... | MODULE prefix spec | FUNCTION name [PC module] [LIBS flags]):
# the target that is linked, what to install when it is missing, how it is found, and what pkg-config files say of it: the
# module of its own file, or flags where it has none. CMAKE_DISABLE_FIND_PACKAGE_<name or prefix> hides one.
function(millrace_foreign target)
  cmake_parse_arguments(ARG "" "DEBIAN;FUNCTION;PC;LIBS" "PACKAGE;MODULE" ${ARGN})
  foreach(word DEBIAN FUNCTION PC LIBS PACKAGE MODULE)
    set_property(GLOBAL PROPERTY "MILLRACE_FOREIGN_${target}_${word}" "${ARG_${word}}")
  endforeach()
endfunction()

# What is known of TARGET, by one of the words above.
function(millrace_known target word out)
  get_property(value GLOBAL PROPERTY "MILLRACE_FOREIGN_${target}_${word}")
  set(${out} "${value}" PARENT_SCOPE)
endfunction()

# Looks for TARGET; whether it was found is whether it is a target then.
function(millrace_find target)
  if(TARGET ${target})
    return()
  endif()
  millrace_known(${target} PACKAGE package)
  millrace_known(${target} MODULE module)
  millrace_known(${target} FUNCTION function)
  if(package)
    find_package(${package} QUIET)
  elseif(module)
    list(GET module 0 prefix)
    list(GET module 1 spec)
    if(NOT CMAKE_DISABLE_FIND_PACKAGE_${prefix})
      find_package(PkgConfig QUIET)
      if(PkgConfig_FOUND)
        pkg_check_modules(${prefix} QUIET IMPORTED_TARGET ${spec})
      endif()
    endif()
  elseif(function)
    cmake_language(CALL ${function})
  endif()
endfunction()

# What base, core and their formats stand on.
millrace_foreign(Threads::Threads PACKAGE Threads LIBS -pthread)
millrace_foreign(fmt::fmt PACKAGE fmt DEBIAN libfmt-dev PC fmt)                                # text formatting (std::format is missing from the supported standard library)
millrace_foreign(spdlog::spdlog PACKAGE spdlog DEBIAN libspdlog-dev PC spdlog)                 # log lines, levels, rotation-free sinks
millrace_foreign(yaml-cpp PACKAGE yaml-cpp DEBIAN libyaml-cpp-dev PC yaml-cpp)                 # YAML with line and column marks
millrace_foreign(nlohmann_json::nlohmann_json PACKAGE nlohmann_json DEBIAN nlohmann-json3-dev PC nlohmann_json)  # JSON we write and read ourselves: manifest, /status, config schema
millrace_foreign(simdjson::simdjson PACKAGE simdjson DEBIAN libsimdjson-dev PC simdjson)       # JSON records on the hot path
millrace_foreign(prometheus-cpp::core PACKAGE prometheus-cpp COMPONENTS core DEBIAN prometheus-cpp-dev PC prometheus-cpp-core)  # Prometheus text exposition
millrace_foreign(zstd::libzstd_shared PACKAGE zstd DEBIAN libzstd-dev PC libzstd)              # zstd streams
millrace_foreign(ZLIB::ZLIB PACKAGE ZLIB DEBIAN zlib1g-dev PC zlib)                            # gzip writing where isa-l's levels do not fit
millrace_foreign(PkgConfig::isal MODULE isal libisal DEBIAN libisal-dev PC libisal)            # gzip inflate and CRC at hardware speed
millrace_foreign(PkgConfig::xxhash MODULE xxhash libxxhash DEBIAN libxxhash-dev PC libxxhash)  # XXH3: rolling hashes, shards
millrace_foreign(PkgConfig::httplib MODULE httplib cpp-httplib DEBIAN libcpp-httplib-dev PC cpp-httplib)  # the admin listener

# Codecs, and parts of transforms, that are left out where their library is not found.
millrace_foreign(BZip2::BZip2 PACKAGE BZip2 DEBIAN libbz2-dev LIBS -lbz2)                      # bz2 streams
millrace_foreign(LibLZMA::LibLZMA PACKAGE LibLZMA DEBIAN liblzma-dev PC liblzma)               # xz streams
millrace_foreign(LZ4::lz4 PACKAGE lz4 CONFIG DEBIAN liblz4-dev PC liblz4)                      # lz4 frames, where they come with a CMake package
millrace_foreign(PkgConfig::lz4 MODULE lz4 liblz4 DEBIAN liblz4-dev PC liblz4)                 # ... where with a pkg-config file only, as distributions carry them
millrace_foreign(PkgConfig::re2 MODULE re2 re2 DEBIAN libre2-dev PC re2)                       # regexes in linear time
millrace_foreign(MillraceJq FUNCTION millrace_find_jq DEBIAN libjq-dev LIBS -ljq)              # jq in transforms

# Connectors and stores.
millrace_foreign(OpenSSL::SSL PACKAGE OpenSSL DEBIAN libssl-dev PC libssl)                     # TLS of the Iggy client
millrace_foreign(OpenSSL::Crypto PACKAGE OpenSSL DEBIAN libssl-dev PC libcrypto)               # hashes of the signer's family
millrace_foreign(AWS::aws-checksums FUNCTION millrace_find_aws                                 # CRC64NVME and its like
  LIBS "$<TARGET_LINKER_FILE:AWS::aws-checksums> $<TARGET_LINKER_FILE:AWS::aws-c-common>")
set(millrace_aws_c_auth "$<TARGET_LINKER_FILE:AWS::aws-c-auth>")
foreach(part aws-c-sdkutils aws-c-http aws-c-compression aws-c-io s2n aws-c-cal aws-c-common)
  string(APPEND millrace_aws_c_auth " $<TARGET_LINKER_FILE:AWS::${part}>")
endforeach()
millrace_foreign(AWS::aws-c-auth FUNCTION millrace_find_aws LIBS "${millrace_aws_c_auth}")     # credentials and signing of the S3 client
millrace_foreign(CURL::libcurl PACKAGE CURL DEBIAN libcurl4-openssl-dev PC libcurl)            # HTTP transport of the S3 client
millrace_foreign(pugixml::pugixml PACKAGE pugixml DEBIAN libpugixml-dev PC pugixml)            # XML of S3 listings and errors
millrace_foreign(PkgConfig::rdkafka MODULE rdkafka rdkafka>=2.0 DEBIAN librdkafka-dev PC rdkafka)  # Kafka, source and sink
millrace_foreign(MillraceArrow FUNCTION millrace_find_arrow)                                   # Parquet files

# The program and the tests.
millrace_foreign(CLI11::CLI11 PACKAGE CLI11 DEBIAN libcli11-dev)                               # command line
millrace_foreign(tomlplusplus::tomlplusplus PACKAGE tomlplusplus DEBIAN libtomlplusplus-dev)   # connector files that `millrace import` reads
millrace_foreign(GTest::gtest PACKAGE GTest DEBIAN libgtest-dev PC gtest)                      # unit tests; the suites that authors run as cases of gtest
millrace_foreign(GTest::gmock PACKAGE GTest DEBIAN libgmock-dev PC gmock)                      # matchers
millrace_foreign(rapidcheck PACKAGE rapidcheck DEBIAN librapidcheck-dev)                       # property tests

# libjq ships neither a CMake package nor a pkg-config file.
function(millrace_find_jq)
  find_path(MILLRACE_JQ_HEADERS jq.h)
  find_library(MILLRACE_JQ_LIBRARY jq)
  mark_as_advanced(MILLRACE_JQ_HEADERS MILLRACE_JQ_LIBRARY)
  if(MILLRACE_JQ_HEADERS AND MILLRACE_JQ_LIBRARY)
    add_library(MillraceJq UNKNOWN IMPORTED)
    set_target_properties(MillraceJq PROPERTIES IMPORTED_LOCATION ${MILLRACE_JQ_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${MILLRACE_JQ_HEADERS})
  endif()
endfunction()

# Distributions lack it: where it is not found the standard way, the copy in MILLRACE_AWS_PREFIX, which ./dev setup built, is taken.
function(millrace_find_aws)
  foreach(attempt "" "${MILLRACE_AWS_PREFIX}")
    list(APPEND CMAKE_PREFIX_PATH ${attempt})
    find_package(aws-c-auth CONFIG QUIET)
    find_package(aws-checksums CONFIG QUIET)
    if(TARGET AWS::aws-c-auth AND TARGET AWS::aws-checksums)
      return()
    endif()
  endforeach()
endfunction()

# Distributions lack it too. Where CMake finds none, the copy in MILLRACE_ARROW_FOLDER is taken, which ./dev setup unpacked; it brings no
# CMake package.
function(millrace_find_arrow)
  find_package(Arrow CONFIG QUIET)
  find_package(Parquet CONFIG QUIET)
  if(TARGET Arrow::arrow_shared AND TARGET Parquet::parquet_shared)
    add_library(MillraceArrow INTERFACE IMPORTED)
    target_link_libraries(MillraceArrow INTERFACE Arrow::arrow_shared Parquet::parquet_shared)
    set_property(GLOBAL PROPERTY MILLRACE_FOREIGN_MillraceArrow_PC "arrow parquet")
    return()
  endif()
  if(CMAKE_DISABLE_FIND_PACKAGE_Arrow OR NOT MILLRACE_ARROW_FOLDER)
    return()
  endif()
  file(GLOB libarrow ${MILLRACE_ARROW_FOLDER}/libarrow.so.[0-9]*)
  file(GLOB libparquet ${MILLRACE_ARROW_FOLDER}/libparquet.so.[0-9]*)
  millrace_find(OpenSSL::Crypto)
  millrace_find(simdjson::simdjson)
  if(NOT libarrow OR NOT libparquet OR NOT TARGET OpenSSL::Crypto OR NOT TARGET simdjson::simdjson)
    return()
  endif()
  add_library(MillraceArrow INTERFACE IMPORTED)
  target_include_directories(MillraceArrow SYSTEM INTERFACE ${MILLRACE_ARROW_FOLDER}/include)
  # It brings, and exports, an OpenSSL and a simdjson of its own. Whose a call is goes by the order of libraries, so ours
  # stand in front, whoever links.
  set(ours "-Wl,--push-state,--no-as-needed $<TARGET_FILE:OpenSSL::Crypto> $<TARGET_FILE:simdjson::simdjson> -Wl,--pop-state")
  target_link_options(MillraceArrow INTERFACE "SHELL:${ours}")
  target_link_libraries(MillraceArrow INTERFACE ${libparquet} ${libarrow})
  set_property(GLOBAL PROPERTY MILLRACE_FOREIGN_MillraceArrow_LIBS "${ours} ${libparquet} ${libarrow} -Wl,-rpath,${MILLRACE_ARROW_FOLDER}")
endfunction()
