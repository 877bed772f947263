# SPDX-License-Identifier: Apache-2.0
"""The commands the server knows: code, the name that faults and the request log use, and the operation of the newer framing."""

REGISTER, READ, LOGOUT = 1, 2, 3  # operations that are no command of their own

# code: (name, operation); READ is what changes nothing.
COMMANDS = {
    1: ("ping", READ),
    12: ("cluster", READ),
    38: ("login", None),
    39: ("logout", LOGOUT),
    41: ("get_tokens", READ),
    42: ("create_token", 146),
    43: ("delete_token", 147),
    44: ("login_token", None),
    100: ("poll", READ),
    101: ("send", 160),
    102: ("flush", READ),
    120: ("get_offset", READ),
    121: ("store_offset", 161),
    122: ("delete_offset", 162),
    200: ("get_stream", READ),
    201: ("get_streams", READ),
    202: ("create_stream", 128),
    203: ("delete_stream", 130),
    205: ("purge_stream", 131),
    300: ("get_topic", READ),
    301: ("get_topics", READ),
    302: ("create_topic", 132),
    303: ("delete_topic", 134),
    305: ("purge_topic", 135),
    402: ("create_partitions", 136),
    403: ("delete_partitions", 137),
    503: ("delete_segments", 138),
    600: ("get_group", READ),
    601: ("get_groups", READ),
    602: ("create_group", 139),
    603: ("delete_group", 140),
    604: ("join", 148),
    605: ("leave", 149),
    606: ("sync", READ),
}
NAMES = {code: entry[0] for code, entry in COMMANDS.items()}
CODES = {entry[0]: code for code, entry in COMMANDS.items()}
NAME_OF_OPERATION = {entry[1]: entry[0] for entry in COMMANDS.values() if entry[1] not in (None, READ)}
REPLICATED = range(128, 160)  # operations on metadata
ON_PARTITION = range(160, 163)
# These are answered under a number that is internal to the server.
ANSWERED_AS = {132: 64, 136: 65, 138: 68}
