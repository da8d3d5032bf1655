"""What NUMAscope's page makes of a file (resources/interact.js of github.com/numascale/numascope), by its rules: anything that it
would not show, or would show wrongly, is an error here."""

import json
import re


def shown(text, by_server=True):
    """The page's traces: heading -> [(seconds since the epoch, value)]; and its labels: [(seconds since the first row, text)].

    by_server: the page's box `servers`, which adds up what differs in the number behind the colon alone.
    """
    rows = json.loads(text)
    name, sources, rate = rows[0]
    assert name == "NumaConnect2", f"the page has no headings for '{name}'"
    assert isinstance(sources, int) and isinstance(rate, (int, float))
    headings = [re.sub(r":\d+", "", heading, count=1) if by_server else heading for heading in rows[1]]
    headings = [re.sub(r" \d+", "", heading, count=1) for heading in headings]
    for heading in headings:
        assert "% wait cycles" in heading, f"the page hides the trace '{heading}'"
    # Plotly and the table show elements as such.
    headings = [re.sub(r"<b [^<>]*></b>", "", heading) for heading in headings]
    assert is_number(rows[2][0]), "the page takes the third row's time for the beginning"
    assert is_number(rows[-1][0]), "the page takes the last row's time for the end"
    traces = {heading: [] for heading in headings}
    labels = []
    for row in rows[2:]:
        if row[0] == "label":
            assert is_number(row[1]) and isinstance(row[2], str)
            labels.append(((row[1] - rows[2][0]) / 1e6, row[2]))
            continue
        assert is_number(row[0]), f"the page does not know '{row[0]}'"
        assert len(row) == len(headings) + 1
        sums = {}
        for heading, value in zip(headings, row[1:]):
            assert value is None or is_number(value)
            sums[heading] = sums.get(heading, 0) + (value or 0)
        for heading, value in sums.items():
            traces[heading].append((row[0] / 1e6, value / (rate / 100) if heading.startswith("%") else value))
    return traces, labels


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)
