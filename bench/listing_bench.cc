// SPDX-License-Identifier: Apache-2.0
// Listing: pages of ListObjectsV2 from their bytes to the sorted listing (checked, decoded, every time and ETag, all of
// it kept), against the XML library's own parse of them with key and size read, and against the least that anybody
// could do: one search for the tags. Bytes are those of the pages. What a page costs on the way is the network's.
// No figure is asked for: the floors here hold what there is.
#include <charconv>
#include <memory>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench/ratio.h"
#include "connectors/s3/listing.h"
#include "store/s3/xml_answer.h"

namespace millrace::bench {
namespace {

constexpr std::size_t kPages = 200;
constexpr std::size_t kKeys = 1000;  // of a page, as S3 gives them

[[noreturn]] void die(const char* what) {
  fmt::print(stderr, "listing_bench: {}\n", what);
  std::exit(2);
}

std::vector<std::string> pages() {
  std::vector<std::string> all;
  for (std::size_t page = 0; page < kPages; ++page) {
    std::string text = fmt::format(
        R"(<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">)"
        "<Name>my-bucket</Name><Prefix>exports/</Prefix><KeyCount>{}</KeyCount><MaxKeys>1000</MaxKeys>"
        "<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated><NextContinuationToken>{}</"
        "NextContinuationToken>",
        kKeys, page + 1);
    for (std::size_t i = 0; i < kKeys; ++i) {
      const std::size_t number = page * kKeys + i;
      text += fmt::format(
          "<Contents><Key>exports/2026-07-{:02}/part-{:08}.ndjson.gz</Key>"
          "<LastModified>2026-07-01T12:34:56.000Z</LastModified><ETag>&quot;{:032x}&quot;</ETag>"
          "<Size>{}</Size><StorageClass>STANDARD</StorageClass></Contents>",
          number * 31 / (kPages * kKeys) + 1, number, number * 2'654'435'761U, 1000 + number);
    }
    all.push_back(text + "</ListBucketResult>");
  }
  return all;
}

/// The text between the tags behind `at`, which moves there.
std::string_view text_of(std::string_view page, std::string_view open, std::string_view close, std::size_t& at) {
  const std::size_t begin = page.find(open, at) + open.size();
  at = page.find(close, begin);
  return page.substr(begin, at - begin);
}

Pass search_pass(const std::vector<std::string>& all) {
  return [&all] {
    std::uint64_t bytes = 0;
    std::uint64_t sum = 0;
    std::string key;
    for (const std::string& page : all) {
      for (std::size_t at = page.find("<Contents>"); at != std::string::npos; at = page.find("<Contents>", at)) {
        key = text_of(page, "<Key>", "</Key>", at);
        const std::string_view size = text_of(page, "<Size>", "</Size>", at);
        std::uint64_t number = 0;
        std::from_chars(size.data(), size.data() + size.size(), number);
        sum += number + key.size();
      }
      bytes += page.size();
    }
    keep(sum);
    return bytes;
  };
}

Pass xml_pass(const std::vector<std::string>& all) {
  return [&all] {
    std::uint64_t bytes = 0;
    std::uint64_t sum = 0;
    std::string key;
    for (const std::string& page : all) {
      pugi::xml_document document;
      if (!document.load_buffer(page.data(), page.size())) die("a page is no XML");
      for (const pugi::xml_node node : document.child("ListBucketResult").children("Contents")) {
        key = node.child("Key").text().get();
        sum += node.child("Size").text().as_ullong() + key.size();
      }
      bytes += page.size();
    }
    keep(sum);
    return bytes;
  };
}

Pass listing_pass(const std::vector<std::string>& all) {
  return [&all] {
    std::uint64_t bytes = 0;
    s3_source::ListingBuilder builder;
    for (const std::string& page : all) {
      const auto parsed = s3::parse_listing(page, "exports/");
      if (!parsed) die("a page is refused");
      for (const ObjectInfo& object : parsed->objects) {
        if (!builder.add(object)) die("an object is refused");
      }
      bytes += page.size();
    }
    const auto listing = std::move(builder).finish();
    if (!listing || listing->size() != kPages * kKeys) die("keys are missing");
    return bytes;
  };
}

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) {
  using namespace millrace::bench;
  Ratios ratios(argc, argv);
  const auto all = pages();
  ratios.compare("pages to a listing, XML alone", {"pugixml", xml_pass(all)}, {"listing", listing_pass(all)}, 0.20);
  ratios.compare("pages to a listing, search alone", {"search", search_pass(all)}, {"listing", listing_pass(all)},
                 0.07);
  return ratios.exit_code();
}
