# SPDX-License-Identifier: Apache-2.0
# What the S3 source is made of.
list(APPEND S3_SOURCES
  archived.cc
  as_quarantined.cc
  base64.cc
  codec_choice.cc
  etag_form.cc
  fetch_ends.cc
  fetch_lane.cc
  fetch_loop.cc
  identity.cc
  inspection.cc
  kept_listing.cc
  json_fields_adapter.cc
  key_filter.cc
  lane.cc
  lane_quarantine.cc
  lane_retry.cc
  lane_trail.cc
  lister.cc
  listing.cc
  local_folder.cc
  manifest.cc
  manifest_file.cc
  manifest_json.cc
  manifest_keeper.cc
  metrics.cc
  object_limits.cc
  offset.cc
  options.cc
  packed_listing.cc
  page_trail.cc
  plan.cc
  plan_json.cc
  plan_memory.cc
  plan_text.cc
  planner.cc
  preparation.cc
  preview.cc
  process.cc
  quarantine.cc
  read_chunks.cc
  read_failure.cc
  read_now.cc
  receipt.cc
  receipt_book.cc
  receipt_file.cc
  receipt_json.cc
  retry_policy.cc
  retry_state.cc
  rights.cc
  rolling_hash.cc
  route.cc
  sample.cc
  shard.cc
  source.cc
  source_commit.cc
  source_retry.cc
  source_schema.cc
  status.cc
  status_json_adapter.cc
  stored_record.cc
  validate.cc
  verification.cc
  way.cc)
list(APPEND S3_DEPENDS base ack metrics config store store_open codec framing formats)

millrace_test(s3_source_parts_test
  SOURCES base64_test.cc baton_test.cc codec_choice_test.cc fetch_loop_test.cc key_filter_test.cc manifest_test.cc object_limits_test.cc offset_test.cc options_test.cc plan_test.cc quarantine_test.cc retry_policy_test.cc rolling_hash_test.cc route_test.cc status_test.cc
  DEPENDS s3 testing LINK rapidcheck PkgConfig::xxhash fmt::fmt LABELS unit property)
if(MILLRACE_BUILD_TESTS)
  target_compile_definitions(s3_source_parts_test PRIVATE MILLRACE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
endif()

millrace_test(s3_listing_test SOURCES endless_listing_test.cc listing_test.cc local_folder_test.cc DEPENDS s3 store_memory store_faulty LINK rapidcheck fmt::fmt LABELS unit property)
millrace_test(s3_manifest_test SOURCES kept_listing_test.cc manifest_file_test.cc manifest_keeper_test.cc
  DEPENDS s3 store_memory store_faulty testing LINK rapidcheck fmt::fmt LABELS unit property)
millrace_test(s3_formats_test SOURCES source_formats_test.cc
  DEPENDS s3 record checkpoint store_memory store_faulty LINK fmt::fmt LABELS unit property)
millrace_test(s3_source_test SOURCES changed_settings_test.cc preparation_test.cc source_archived_test.cc source_change_test.cc source_codec_test.cc source_compression_test.cc source_listing_test.cc source_property_test.cc source_resume_test.cc source_test.cc source_text_test.cc source_transfer_test.cc
  DEPENDS s3 record checkpoint store_memory store_faulty LINK rapidcheck fmt::fmt LABELS unit property TIMEOUT 300)
# As if no optional codec had been found: their one source is compiled again, without any, in place of the library's.
millrace_test(s3_without_codecs_test SOURCES without_codecs_test.cc ${PROJECT_SOURCE_DIR}/src/codec/optional_codecs.cc
  DEPENDS s3 record checkpoint store_memory store_faulty config LINK fmt::fmt)
millrace_test(s3_shard_test SOURCES shard_test.cc
  DEPENDS s3 record checkpoint store_memory store_faulty LINK rapidcheck PkgConfig::xxhash fmt::fmt LABELS unit property)
millrace_allocation_test(s3_lane_allocation_test SOURCES lane_allocation_test.cc ${PROJECT_SOURCE_DIR}/tests/allocation/counted_new.cc
  DEPENDS s3 checkpoint store_memory store_faulty LINK fmt::fmt)
millrace_allocation_test(s3_listing_memory_test SOURCES listing_memory_test.cc DEPENDS s3 LINK fmt::fmt)
millrace_test(s3_source_pipeline_test SOURCES source_outage_test.cc source_pipeline_test.cc
  DEPENDS s3 chain pipeline decode encode testing store_memory store_faulty LINK fmt::fmt LABELS unit journey TIMEOUT 300)
millrace_test(s3_receipt_test SOURCES receipt_book_test.cc receipt_file_test.cc receipt_test.cc verification_test.cc
  DEPENDS s3 store_memory LINK rapidcheck fmt::fmt LABELS unit property)
millrace_test(s3_quarantine_test SOURCES as_quarantined_test.cc source_quarantine_property_test.cc source_quarantine_test.cc
  DEPENDS s3 record checkpoint store_memory store_faulty LINK rapidcheck PkgConfig::xxhash fmt::fmt LABELS unit property TIMEOUT 300)
millrace_test(s3_plan_test SOURCES planner_test.cc
  DEPENDS s3 record checkpoint store_memory store_faulty LINK fmt::fmt LABELS unit)
millrace_test(s3_retry_test SOURCES retry_state_test.cc source_retry_test.cc
  DEPENDS s3 record checkpoint store_memory store_faulty LINK rapidcheck fmt::fmt LABELS unit property)
