#!/usr/bin/env python3
"""Proves that a page of attune answers.

Usage: tools/dev/page_answers.py ADDRESS

Asks for the address and exits 0 if HTML comes back, which it names on stdout.
"""

import gzip
import sys
import urllib.error
import urllib.request


def main(arguments):
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(__doc__.strip())
        return 2
    # The token stands in the fragment, which a browser keeps to itself; the page itself holds no data.
    address = arguments[0].split("#")[0]
    request = urllib.request.Request(address, headers={"Accept-Encoding": "gzip"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=10) as answer:
            kind, body = answer.headers.get_content_type(), answer.read()
            if answer.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
    except (urllib.error.URLError, OSError) as error:
        print(f"{address}: {error}", file=sys.stderr)
        return 1
    if kind != "text/html" or b"<html" not in body:
        print(f"{address}: answers with {kind}, not with a page", file=sys.stderr)
        return 1
    print(f"{address} answers: {len(body)} bytes of HTML")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
