# SPDX-License-Identifier: Apache-2.0
# Every library Millrace does not write itself, in one place, with its reason. Found the standard way; `./dev setup` installs what is missing.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)

find_package(fmt REQUIRED)                  # text formatting (std::format is missing from the supported standard library)
find_package(spdlog REQUIRED)               # log lines, levels, rotation-free sinks
find_package(yaml-cpp REQUIRED)             # YAML with line and column marks
find_package(nlohmann_json REQUIRED)        # JSON we write and read ourselves: manifest, /status, config schema
find_package(simdjson REQUIRED)             # JSON records on the hot path
find_package(CLI11 REQUIRED)                # command line
if(MILLRACE_BUILD_CLI)
  find_package(tomlplusplus REQUIRED)       # connector files that `millrace import` reads
endif()
find_package(pugixml REQUIRED)              # XML of S3 listings and errors
find_package(prometheus-cpp REQUIRED COMPONENTS core)  # Prometheus text exposition
find_package(zstd REQUIRED)                 # zstd streams
find_package(CURL REQUIRED)                 # HTTP transport of the S3 client
find_package(OpenSSL REQUIRED)              # TLS of libcurl, hashes of the signer's family
find_package(ZLIB REQUIRED)                 # gzip writing where isa-l's levels do not fit
pkg_check_modules(isal REQUIRED IMPORTED_TARGET libisal)        # gzip inflate and CRC at hardware speed
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)    # XXH3: rolling hashes, shards
pkg_check_modules(httplib REQUIRED IMPORTED_TARGET cpp-httplib) # the admin listener

# Codecs that are left out where their library is not found (or is not wanted: CMAKE_DISABLE_FIND_PACKAGE_<name>).
find_package(BZip2)                         # bz2 streams
find_package(LibLZMA)                       # xz streams
find_package(lz4 CONFIG QUIET)              # lz4 frames; distributions carry its pkg-config file only
if(NOT TARGET LZ4::lz4 AND NOT CMAKE_DISABLE_FIND_PACKAGE_lz4)
  pkg_check_modules(lz4 IMPORTED_TARGET liblz4)
endif()
set(MILLRACE_LZ4_TARGET PkgConfig::lz4)
if(TARGET LZ4::lz4)
  set(MILLRACE_LZ4_TARGET LZ4::lz4)
endif()
set(MILLRACE_CODEC_BZ2 ${BZIP2_FOUND})
set(MILLRACE_CODEC_XZ ${LIBLZMA_FOUND})
set(MILLRACE_CODEC_LZ4 ${lz4_FOUND})

# Parquet files (component millrace::parquet), left out likewise. Distributions lack Arrow: where CMake finds none, the copy that
# ./dev setup unpacked is taken; it brings no CMake package.
find_package(Arrow CONFIG QUIET)
find_package(Parquet CONFIG QUIET)
set(MILLRACE_PARQUET OFF)
if(TARGET Arrow::arrow_shared AND TARGET Parquet::parquet_shared)
  add_library(MillraceArrow INTERFACE)
  target_link_libraries(MillraceArrow INTERFACE Arrow::arrow_shared Parquet::parquet_shared)
  set(MILLRACE_PARQUET ON)
elseif(NOT CMAKE_DISABLE_FIND_PACKAGE_Arrow)
  execute_process(COMMAND bash ${CMAKE_CURRENT_LIST_DIR}/../tools/setup/arrow.sh --where
    OUTPUT_VARIABLE millrace_arrow OUTPUT_STRIP_TRAILING_WHITESPACE)
  file(GLOB millrace_libarrow ${millrace_arrow}/libarrow.so.[0-9]*)
  file(GLOB millrace_libparquet ${millrace_arrow}/libparquet.so.[0-9]*)
  if(millrace_libarrow AND millrace_libparquet)
    add_library(MillraceArrow INTERFACE)
    target_include_directories(MillraceArrow SYSTEM INTERFACE ${millrace_arrow}/include)
    # It brings, and exports, an OpenSSL and a simdjson of its own. Whose a call is goes by the order of libraries, so ours
    # stand in front, whoever links.
    target_link_options(MillraceArrow INTERFACE
      "SHELL:-Wl,--push-state,--no-as-needed ${OPENSSL_CRYPTO_LIBRARY} $<TARGET_FILE:simdjson::simdjson> -Wl,--pop-state")
    target_link_libraries(MillraceArrow INTERFACE ${millrace_libparquet} ${millrace_libarrow})
    set(MILLRACE_PARQUET ON)
  endif()
endif()

# Connectors that are left out where their library is not found (or is not wanted: CMAKE_DISABLE_FIND_PACKAGE_rdkafka).
if(NOT CMAKE_DISABLE_FIND_PACKAGE_rdkafka)
  pkg_check_modules(rdkafka IMPORTED_TARGET rdkafka>=2.0) # Kafka, source and sink
endif()
set(MILLRACE_KAFKA ${rdkafka_FOUND})

# Examples that are left out likewise.
pkg_check_modules(libpq QUIET IMPORTED_TARGET libpq) # examples/postgres_sink

# What transforms leave out where its library is not found (MILLRACE_JQ=OFF, MILLRACE_REGEX=OFF: is not wanted).
option(MILLRACE_JQ "jq in transforms, where libjq is found" ON)
option(MILLRACE_REGEX "Regexes in transforms, where RE2 is found" ON)
find_path(MILLRACE_JQ_HEADERS jq.h)          # libjq ships neither a CMake package nor a pkg-config file
find_library(MILLRACE_JQ_LIBRARY jq)
pkg_check_modules(re2 QUIET IMPORTED_TARGET re2)  # regexes in linear time
set(MILLRACE_TRANSFORM_JQ FALSE)
if(MILLRACE_JQ AND MILLRACE_JQ_HEADERS AND MILLRACE_JQ_LIBRARY)
  set(MILLRACE_TRANSFORM_JQ TRUE)
endif()
set(MILLRACE_TRANSFORM_REGEX FALSE)
if(MILLRACE_REGEX AND re2_FOUND)
  set(MILLRACE_TRANSFORM_REGEX TRUE)
endif()

# Credentials, signing and CRC64NVME of the S3 client. Distributions lack it: where it is not found the standard way, the copy
# that ./dev setup built is taken.
find_package(aws-c-auth CONFIG QUIET)
if(NOT aws-c-auth_FOUND)
  execute_process(COMMAND bash ${CMAKE_CURRENT_LIST_DIR}/../tools/setup/aws_c_auth.sh --where
    OUTPUT_VARIABLE millrace_aws_prefix OUTPUT_STRIP_TRAILING_WHITESPACE)
  list(APPEND CMAKE_PREFIX_PATH "${millrace_aws_prefix}")
  find_package(aws-c-auth CONFIG QUIET)
endif()
find_package(aws-checksums CONFIG QUIET)
if(NOT aws-c-auth_FOUND OR NOT aws-checksums_FOUND)
  message(FATAL_ERROR "aws-c-auth and aws-checksums were found neither by CMake nor in ${millrace_aws_prefix}. "
    "Run ./dev setup build once, or name an installation in CMAKE_PREFIX_PATH.")
endif()

if(MILLRACE_BUILD_TESTS)
  find_package(GTest REQUIRED)              # unit tests
  find_package(rapidcheck REQUIRED)         # property tests
endif()
