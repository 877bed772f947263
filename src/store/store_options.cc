// SPDX-License-Identifier: Apache-2.0
#include "millrace/store/store_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>

#include "millrace/base/printable.h"
#include "store/option_values.h"

namespace millrace {
namespace {

using Kind = StoreOptionKind;

struct Row {
  std::string_view name;
  std::string_view alias;  ///< a second name; empty when there is none
  Kind kind;
  bool secret;
  std::string_view meaning;
};

constexpr Row kRows[] = {
    {"access_key_id", "", Kind::text, true, "Access key; together with secret_access_key, or neither."},
    {"secret_access_key", "", Kind::text, true, "Secret key; together with access_key_id, or neither."},
    {"session_token", "token", Kind::text, true, "Session token of temporary keys."},
    {"region", "default_region", Kind::text, false, "Region that requests are signed for."},
    {"endpoint", "endpoint_url", Kind::endpoint, false, "Server to talk to instead of AWS."},
    {"allow_http", "", Kind::flag, false, "Allows an http:// endpoint that is not on this machine."},
    {"virtual_hosted_style_request", "", Kind::flag, false, "Bucket in the host name rather than in the path."},
    {"skip_signature", "", Kind::flag, false, "Sends requests unsigned, for public buckets."},
    {"unsigned_payload", "", Kind::flag, false, "Leaves the body's hash out of the signature."},
    {"request_payer", "", Kind::flag, false, "Pays for requests to a requester-pays bucket."},
    {"profile", "", Kind::text, false, "Profile of the shared configuration files."},
    {"role_arn", "", Kind::text, false, "Role to take on with the keys found, or with web_identity_token_file."},
    {"external_id", "", Kind::text, true, "External id that the role's owner asks for; together with role_arn."},
    {"imdsv1_fallback", "", Kind::flag, false, "Asks the instance metadata by version 1 when version 2 fails."},
    {"metadata_endpoint", "", Kind::endpoint, false, "Instance metadata server to ask for credentials."},
    {"container_credentials_relative_uri", "", Kind::text, false, "Path of the container's credentials."},
    {"container_credentials_full_uri", "", Kind::text, false, "Url of the container's credentials."},
    {"container_authorization_token_file", "", Kind::text, false, "File with the token for the full uri."},
    {"web_identity_token_file", "", Kind::text, false, "File with a web identity token for role_arn."},
    {"allow_invalid_certificates", "", Kind::flag, false,
     "Does not check the server's certificate; needs confirm_invalid_certificates as well."},
    {"confirm_invalid_certificates", "", Kind::flag, false,
     "Confirms that data and credentials may go to whoever answers."},
    {"ca_bundle", "", Kind::text, false, "File with certificate authorities to trust instead of the system's."},
    {"proxy_url", "", Kind::text, true, "Proxy for all requests; HTTPS_PROXY and its like are not read."},
    {"proxy_excludes", "", Kind::text, false, "Hosts that are reached without the proxy, separated by commas."},
    {"user_agent", "", Kind::text, false, "User-Agent header."},
    {"connect_timeout", "", Kind::duration, false, "Longest wait for a connection."},
    {"timeout", "", Kind::duration, false, "Longest time of one request."},
    {"pool_idle_timeout", "", Kind::duration, false, "How long an idle connection is kept."},
    {"http1_only", "", Kind::flag, false, "Never HTTP/2, which is how it is: true, or left out."},
    {"max_retries", "", Kind::count, false,
     "A source tries a request again at most this often while nothing comes. Given, it is the end of every kind of "
     "failure; left out, a store that throttles, cannot be reached or refuses keys that are renewed is given "
     "retry_timeout as well."},
    {"retry_timeout", "", Kind::duration, false,
     "How long a source goes on with such a store once it has answered: not with the first page of a listing nor the "
     "first read of a manifest, as a store that never answered is rather a wrong one. A Retry-After is obeyed as far "
     "as it is within this time, also where max_retries is given."},
    {"checksum_algorithm", "", Kind::checksum, false,
     "Checksum sent with uploads beside the signed hash of their body: none."},
    {"s3_express", "", Kind::flag, false,
     "The bucket is a directory bucket (S3 Express One Zone): not yet, so false, or left out."},
    {"disable_tagging", "", Kind::flag, false,
     "Without effect: an object has the tags that a sink is told to give it, and none else. Taken from configurations "
     "of other programs."},
};

/// Of options that are no flags; the tests of those who use them hold them to what they do.
constexpr std::pair<std::string_view, std::string_view> kDefaults[] = {
    {"region", "as the environment or the profile says, else us-east-1"},
    {"endpoint", "AWS_ENDPOINT_URL_S3, else AWS_ENDPOINT_URL, else AWS"},
    {"virtual_hosted_style_request", "on AWS, where the bucket's name allows it"},
    {"http1_only", "true"},
    {"user_agent", "millrace/ and the version"},
    {"connect_timeout", "5s"},
    {"timeout", "as long as bytes move"},
    {"pool_idle_timeout", "30s"},
    {"max_retries", "7"},
    {"retry_timeout", "3m"},
    {"checksum_algorithm", "none"},
};

std::string_view default_of(const Row& row) {
  const auto found = std::ranges::find(kDefaults, row.name, &std::pair<std::string_view, std::string_view>::first);
  if (found != std::end(kDefaults)) return found->second;
  return row.kind == Kind::flag ? "false" : "";
}

std::string_view type_of(Kind kind) {
  switch (kind) {
    case Kind::text:
      return "string";
    case Kind::flag:
      return "true or false";
    case Kind::duration:
      return "duration";
    case Kind::count:
      return "count";
    case Kind::endpoint:
      return "url";
    case Kind::checksum:
      return "none";
  }
  return "string";
}

/// "AWS-Access-Key-Id" as "access_key_id": the one spelling that names are compared in.
std::string canonical(std::string_view name) {
  std::string out(name);
  std::ranges::transform(out, out.begin(), [](char c) {
    if (c == '-') return '_';
    return c >= 'A' && c <= 'Z' ? char(c + 32) : c;
  });
  return out.starts_with("aws_") ? out.substr(4) : out;
}

const Row* find(std::string_view name) {
  const auto row = std::ranges::find_if(
      kRows, [&](const Row& r) { return r.name == name || (!r.alias.empty() && r.alias == name); });
  return row == std::end(kRows) ? nullptr : row;
}

bool names_the_bucket(std::string_view name) { return name == "bucket" || name == "bucket_name"; }

/// Number of single-character changes between two names.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

std::string nearest(std::string_view name) {
  std::string_view best;
  std::size_t least = name.size() / 3 + 2;
  for (const Row& row : kRows) {
    for (const std::string_view candidate : {row.name, row.alias}) {
      if (candidate.empty()) continue;
      if (const std::size_t d = distance(name, candidate); d < least) {
        least = d;
        best = row.name;
      }
    }
  }
  return best.empty() ? "`millrace describe` lists those that exist" : fmt::format("did you mean '{}'?", best);
}

using Values = std::map<std::string, std::string, std::less<>>;

std::string_view value_of(const Values& values, std::string_view name) {
  const auto found = values.find(name);
  return found == values.end() ? std::string_view() : std::string_view(found->second);
}

/// Names and values of later versions: an option that is taken and does nothing would be worse than none.
void check_available(const Values& values, std::vector<std::string>& problems) {
  if (value_of(values, "http1_only") == "false") {
    problems.emplace_back("store.http1_only: only HTTP/1.1 is spoken; leave the option out, or set it to \"true\"");
  }
  if (value_of(values, "s3_express") == "true") problems.emplace_back("store.s3_express is not available yet");
  if (const auto checksum = value_of(values, "checksum_algorithm"); !checksum.empty() && checksum != "none") {
    problems.emplace_back(
        "store.checksum_algorithm is not available yet: uploads are covered by the signed hash of their body; leave "
        "the option out");
  }
  for (const char* name : {"connect_timeout", "timeout"}) {
    if (store_duration(value_of(values, name)) == Duration(0)) {
      problems.push_back(fmt::format("store.{}: give more than zero", name));
    }
  }
}

/// Which options name whose keys are taken: at most one way, and none without what it needs.
void check_credentials(const Values& values, std::vector<std::string>& problems) {
  const auto has = [&](std::string_view name) { return values.contains(name); };
  if (has("access_key_id") != has("secret_access_key")) {
    problems.push_back(fmt::format("store.{} is given without store.{}: give both or neither",
                                   has("access_key_id") ? "access_key_id" : "secret_access_key",
                                   has("access_key_id") ? "secret_access_key" : "access_key_id"));
  } else if (has("session_token") && !has("access_key_id")) {
    problems.emplace_back(
        "store.session_token belongs to store.access_key_id and store.secret_access_key, which are missing");
  }
  for (const char* name : {"external_id", "web_identity_token_file"}) {
    if (has(name) && !has("role_arn"))
      problems.push_back(fmt::format("store.{} belongs to store.role_arn, which is missing", name));
  }
  if (has("container_credentials_relative_uri") && has("container_credentials_full_uri")) {
    problems.emplace_back(
        "store.container_credentials_relative_uri and store.container_credentials_full_uri name two places; keep one");
  }
  if (has("container_authorization_token_file") && !has("container_credentials_relative_uri") &&
      !has("container_credentials_full_uri")) {
    problems.emplace_back(
        "store.container_authorization_token_file belongs to store.container_credentials_full_uri, which is missing");
  }
  // What nobody would ask is refused: it was meant to be somebody.
  const auto refuse_beside = [&](std::string_view winner, std::string_view why,
                                 std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
      if (!has(name)) continue;
      problems.push_back(fmt::format("store.{} and store.{}: {}; keep one", name, winner, why));
    }
  };
  if (value_of(values, "skip_signature") == "true") {
    refuse_beside("skip_signature", "what is not signed needs no keys",
                  {"access_key_id", "profile", "role_arn", "imdsv1_fallback", "metadata_endpoint",
                   "container_credentials_relative_uri", "container_credentials_full_uri"});
  }
  if (has("access_key_id")) {
    refuse_beside("access_key_id", "with keys nobody else is asked for some",
                  {"profile", "imdsv1_fallback", "metadata_endpoint", "container_credentials_relative_uri",
                   "container_credentials_full_uri"});
  }
  if (has("web_identity_token_file")) {
    refuse_beside("web_identity_token_file", "the token alone takes on the role",
                  {"access_key_id", "profile", "external_id", "imdsv1_fallback", "metadata_endpoint",
                   "container_credentials_relative_uri", "container_credentials_full_uri"});
  }
}

/// Rules over more than one option.
void check_together(const Values& values, std::vector<std::string>& problems) {
  const auto on = [&](std::string_view name) { return value_of(values, name) == "true"; };
  check_credentials(values, problems);
  const std::string_view endpoint = value_of(values, "endpoint");
  if (endpoint.starts_with("http://") && !on("allow_http") && !is_loopback_endpoint(endpoint)) {
    problems.push_back(
        fmt::format("store.endpoint {} is not encrypted and not on this machine: use https://, or set "
                    "store.allow_http: \"true\" to send data and signatures in the clear",
                    printable(endpoint)));
  }
  if (on("allow_invalid_certificates") && !on("confirm_invalid_certificates")) {
    problems.emplace_back(
        "store.allow_invalid_certificates lets anyone on the way read and change the data: name the server's authority "
        "with store.ca_bundle instead, or confirm with store.confirm_invalid_certificates: \"true\"");
  }
}

}  // namespace

Result<StoreOptions> StoreOptions::parse(const std::map<std::string, std::string>& raw) {
  StoreOptions options;
  std::vector<std::string> problems;
  std::map<std::string, std::string, std::less<>> spelled;  // canonical name -> as the user wrote it
  for (const auto& [given, value] : raw) {
    const std::string name = canonical(given);
    const std::string shown = printable(given, 100);
    if (names_the_bucket(name)) {
      problems.push_back(
          fmt::format("store.{}: the bucket is part of the url (s3://bucket/prefix); leave it out", shown));
      continue;
    }
    const Row* row = find(name);
    if (row == nullptr) {
      problems.push_back(fmt::format("store.{} is not a store option; {}", shown, nearest(name)));
      continue;
    }
    if (const auto [before, fresh] = spelled.emplace(row->name, shown); !fresh) {
      problems.push_back(fmt::format("store.{} and store.{} are the same option; keep one", before->second, shown));
      continue;
    }
    auto kept = checked_store_value(row->kind, value);
    if (kept) {
      options.values_.emplace(row->name, *std::move(kept));
    } else {
      problems.push_back(fmt::format("store.{} {}", shown, kept.error().message()));
    }
  }
  check_available(options.values_, problems);
  if (problems.empty()) check_together(options.values_, problems);
  if (problems.empty()) return options;
  return fail(Error::config(fmt::format("{}", fmt::join(problems, "\n"))));
}

std::string_view StoreOptions::get(std::string_view canonical_name) const { return value_of(values_, canonical_name); }
bool StoreOptions::has(std::string_view canonical_name) const { return values_.contains(canonical_name); }
bool StoreOptions::flag(std::string_view canonical_name) const { return get(canonical_name) == "true"; }

std::optional<Duration> StoreOptions::duration(std::string_view canonical_name) const {
  return store_duration(get(canonical_name));
}

std::optional<std::string_view> StoreOptions::canonical_name(std::string_view spelling) {
  const Row* row = find(canonical(spelling));
  return row == nullptr ? std::nullopt : std::optional(row->name);
}

const std::vector<StoreOptions::Known>& StoreOptions::known() {
  static const std::vector<Known> all = [] {
    std::vector<Known> rows;
    for (const Row& row : kRows)
      rows.push_back({row.name, row.meaning, row.secret, type_of(row.kind), default_of(row)});
    return rows;
  }();
  return all;
}

}  // namespace millrace
