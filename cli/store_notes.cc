// SPDX-License-Identifier: Apache-2.0
#include "cli/store_notes.h"

namespace millrace::cli {

std::string_view store_notes() {
  return R"(
## Whose credentials are taken

`skip_signature` sends requests unsigned, and asks nobody. Else the first of these that is set up; one that is set up and fails ends the run
rather than let another identity take its place. A line of the log, `credentials found`, names the winner and how long its keys last.

| Asked | Where | Set up when |
|---|---|---|
| 1 | `access_key_id`, `secret_access_key`, `session_token` | given |
| 2 | `web_identity_token_file` and `role_arn` | given; the token is read anew with each renewal |
| 3 | `profile` | given: then nobody further down is asked |
| 4 | `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN` | set |
| 5 | profile `AWS_PROFILE`, or `default`, of `~/.aws/credentials` and `~/.aws/config` (`AWS_SHARED_CREDENTIALS_FILE`, `AWS_CONFIG_FILE`) | the profile names credentials; one that `AWS_PROFILE` names and neither file has ends the run |
| 6 | `AWS_WEB_IDENTITY_TOKEN_FILE` and `AWS_ROLE_ARN` | set |
| 7 | the container: `container_credentials_*`, or `AWS_CONTAINER_CREDENTIALS_RELATIVE_URI`, `_FULL_URI`, `AWS_CONTAINER_AUTHORIZATION_TOKEN`, `_TOKEN_FILE` | given or set; then 8 is not asked |
| 8 | the instance's metadata, version 2 (and 1 with `imdsv1_fallback`) | unless `AWS_EC2_METADATA_DISABLED` is `true` |

`role_arn` without a token is taken on with what the others gave. A profile may name keys; a `role_arn` with `source_profile`, `credential_source` or
`web_identity_token_file` (and `external_id`, `role_session_name`, `duration_seconds`, `region`); single sign-on (`sso_session` or `sso_start_url`, after
`aws sso login`); or a `credential_process`. The files are read anew with each renewal. What a `credential_process` that fails has written to standard error
is not repeated, as it may hold keys: the log has its exit code, and it can be run by hand.

STS is asked at `AWS_ENDPOINT_URL_STS`, else `AWS_ENDPOINT_URL`, else in the region of the profile or of the store; single sign-on at `AWS_ENDPOINT_URL_SSO` and
`AWS_ENDPOINT_URL_SSO_OIDC`, else in its region: all through `proxy_url`, and trusting `ca_bundle`. The token of an `sso_session` is renewed in its last five
minutes and written back to its file, as AWS's own tools do.

Keys that end are renewed five minutes before, or when a third of their time is left if that is shorter. While a renewal fails, the old ones serve until two
seconds before their end. Keys that the server refuses as expired or unknown are renewed once, and the request is repeated. Refused again, the request
is tried again like any other, and keys that cannot change (given as options) end the run at once. A run that has read something waits `retry_timeout` for keys that
are refused or cannot be renewed: keys just exchanged may be unknown for half a minute, and a token service may be out. The first page of a listing and the first read
of a manifest get no more than their tries, some ten seconds, so wrong keys are told soon.

Of the environment only these `AWS_*` variables are read, and `AWS_REGION`, `AWS_DEFAULT_REGION`, `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL` and `AWS_CA_BUNDLE`
where the option is not given. `HTTPS_PROXY`, `http_proxy`, `ALL_PROXY`, `NO_PROXY` and other names without the prefix are not: a proxy is named by `proxy_url`.

## Rights

No more than these, for what is used (`millrace plan FILE` prints those of one file):

| Used | Needs | On |
|---|---|---|
| `source.s3.url` | `s3:ListBucket` | the bucket, where `s3:prefix` begins with the url's prefix |
| | `s3:GetObject` | the objects below the prefix |
| `source.s3.checkpoint.url` | `s3:GetObject`, `s3:PutObject` | the manifest, and `NAME.listing.zst` beside it |
| | `s3:ListBucket` | its bucket: without it S3 answers 403, not 404, for a manifest that is not there yet |
| `receipt.url` | `s3:GetObject`, `s3:PutObject` | the receipt, and its parts, `NAME.receipt-*` beside the manifest |
| | `s3:DeleteObject` | those parts; without it they stay there |
| `millrace status` | `s3:GetObject` | the manifest; with `--drift` also the listing beside it, and `s3:ListBucket` as `source.s3.url` |
| `millrace verify` | `s3:ListBucket`, `s3:GetObject` | as `source.s3.url`; the manifest, and the receipt. It reads none of the objects |
| `sink.s3.url` | `s3:PutObject` | the objects below the prefix |
| `if_exists: verify` or `fail` | `s3:GetObject` | the same, to compare what lies there |
| `max_file_size` from `multipart_threshold` on | `s3:AbortMultipartUpload`, `s3:GetObject` | the objects below the prefix |
| | `s3:PutObject`, `s3:GetObject`, `s3:DeleteObject` | `PREFIX/_millrace/*`; without the last two, what a crash leaves stays there |
| `delivery: exactly_once`, unless files end by their records alone | `s3:PutObject`, `s3:GetObject` | `PREFIX/_millrace/*` |
| `cleanup_uploads` | `s3:ListBucketMultipartUploads`, `s3:AbortMultipartUpload` | the bucket; the objects below the prefix |
| `acl`, `tags` | `s3:PutObjectAcl`, `s3:PutObjectTagging` | the objects below the prefix |
| `probe` | `s3:PutObject` | `PREFIX/.millrace-probe`, or `probe_key` |
| | `s3:DeleteObject` | the same; without it the probe stays there |
| `request_payer` | nothing further | the bucket's owner must allow requests that pay |
| `role_arn` | `sts:AssumeRole` | the role, whose trust must name whoever takes it on |
| `web_identity_token_file` | nothing | the role's trust must name the token's issuer (`sts:AssumeRoleWithWebIdentity`) |
| `skip_signature` | nothing | the bucket must be public |
| a bucket encrypted with KMS | `kms:Decrypt` to read, `kms:GenerateDataKey` to write; in parts both | the key |

The bucket itself is never asked for (no HEAD, no location), created, or listed outside the prefix.
)";
}

}  // namespace millrace::cli
