# SPDX-License-Identifier: Apache-2.0
"""What a reader of the tree has no use for: paths of one machine, hosts of package registries, how the work was organised."""
import re

from tree import Finding, line_of

# In pieces, so that this file passes its own check.
PATTERNS = {
    "a path of one machine": r"(?<![\w.])/(?:wo" r"rk|fa" r"rm|ro" r"ot)/",
    "a host of a package registry; name the package and its client instead": (
        r"\b(?:py" r"pi\.org|files\.python" r"hosted\.org|registry\.np" r"mjs\.org|(?:static\.|index\.)?crates" r"\.io|proxy\.go" r"lang\.org|sum\.go"
        r"lang\.org|repo1?\.ma" r"ven\.(?:org|apache\.org)|deb\.deb" r"ian\.org|security\.deb" r"ian\.org)\b"
    ),
    "how the work was organised, which is not about Millrace": (
        r"(?i:\bsub" r"agents?\b|\bclau" r"de\b|\banthr" r"opic\b|\bchat" r"gpt\b|\bcopi" r"lot\b|\bco-auth" r"ored-by\b)|\bCE" r"O\b|\bLL" r"Ms?\b|"
        r"\bbr" r"ief\.md\b|\bshared/(?:sp" r"ec|se" r"eds)\b"
    ),
}


def check(tree):
    findings = []
    for path, text in tree.texts.items():
        for meaning, pattern in PATTERNS.items():
            for match in re.finditer(pattern, text):
                findings.append(Finding(path, line_of(text, match.start()), "words", f"'{match.group()}' is {meaning}"))
    return findings
