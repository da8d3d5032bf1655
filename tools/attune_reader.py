#!/usr/bin/python3
"""Reads recordings of attune without attune: Python 3.9 or newer and the package zstandard (Debian: python3-zstandard).

    attune_reader.py FILE            the tables, with their frames and rows
    attune_reader.py FILE TABLE      the rows of a table, a JSON object a line

As a module: frames(data) gives every whole frame, rows(data, table) the rows as dicts. The format is described in
src/wire/frame.h and docs/tables.md; docs/export.md has examples.
"""

import json
import mmap
import struct
import sys

import zstandard

MAGIC = 0x464E5441  # "ATNF"
VERSION = 0
HEADER = struct.Struct("<IHHIIIIQQqqII")
BLOCK = struct.Struct("<IIHH")
COLUMN = struct.Struct("<B3xI")
CRC_OFFSET = 12
MAX_PAYLOAD = 64 << 20
ABSENT = -(1 << 63)

# number: (name, integer columns, text columns); a star stands for a column a series.
# Made by tools/generate_tables.py: begin
TABLES = {
    1: ("info", "", "key value"),
    2: ("elements", "id parent kind os_id start_ns end_ns", "host name"),
    3: ("series", "id element kind scale max_per_second sum", "sensor signal unit"),
    4: ("streams", "stream column series interval_ns", ""),
    5: ("samples", "t_ns *", ""),
    6: ("events", "t_ns thread kind object site a b", ""),
    7: ("labels", "t_ns", "text"),
    8: ("gaps", "stream t0_ns t1_ns count reason thread", ""),
    9: ("processes", "id parent pid start_ns end_ns exit_code exit_signal user_ns system_ns minor_faults major_faults voluntary_switches involuntary_switches max_rss_bytes", "host command"),
    10: ("clock", "tsc monotonic_ns real_ns", ""),
    11: ("lod", "t0_ns t1_ns count *", ""),
    12: ("index", "table stream offset bytes rows first_ns last_ns sequence", ""),
    13: ("footer", "index_offset index_bytes", ""),
    14: ("findings", "t_ns revision state t0_ns t1_ns cost_ns share_ppm object site gain_ns", "id class title advice evidence"),
    15: ("decisions", "t_ns id state object t0_ns t1_ns window_ns expected_gain_ppm gain_ppm gain_low_ppm gain_high_ppm", "tunlet knob before after objective finding reason"),
    16: ("view", "t_ns from_ns exponent count mean low high", ""),
    17: ("alarms", "t_ns id state severity element series value threshold scale", "alarm unit text advice"),
    18: ("sync", "t_ns thread object site kind count contended wait_ns hold_ns holds", ""),
    19: ("sites", "id frame address line inlined", "function file module build_id"),
    21: ("stacks", "id parent site", ""),
    22: ("cpu_samples", "t_ns thread cpu site stack weight_ns", ""),
    23: ("accesses", "t_ns thread cpu site kind address bytes page_node cpu_node weight_ns", ""),
    24: ("messages", "t_ns thread rank kind function communicator peer tag bytes site post_ns wait_ns wait_site cpu", ""),
    25: ("collectives", "t_ns thread rank function communicator sequence root bytes_sent bytes_received site post_ns wait_ns cpu communicator_rank communicator_size", ""),
    26: ("state_times", "t_ns element state waker ns count alone_ns idle_cpus_ns", ""),
    27: ("thread_counts", "t_ns element count counted_ppm cpu", "event"),
    28: ("event_samples", "t_ns thread cpu site stack count", "event"),
    64: ("states", "t_ns thread kind wait_ns", ""),
    65: ("holds", "t_ns thread object site kind length_ns holds held_ns open", ""),
    66: ("calls", "t_ns rank state length_ns function site communicator sequence", ""),
    67: ("arrows", "t_ns rank peer received_ns bytes tag communicator site waited_ns", ""),
}
# Made by tools/generate_tables.py: end


class Damaged(Exception):
    """Bytes that are no frame, or not the one that was written."""


def _crc_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_CRC = _crc_table()


def crc32c(data, crc=0):
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _CRC[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


class Frame:
    """A frame: its header, and its columns when they are asked for."""

    def __init__(self, data, offset, check_crc=True):
        if offset + HEADER.size > len(data):
            raise Damaged("cut short")
        (magic, version, self.table, payload, crc, self.stream, self.rows, self.sequence, self.dropped_before,
         self.first_ns, self.last_ns, self.column_count, _) = HEADER.unpack_from(data, offset)
        if magic != MAGIC or payload > MAX_PAYLOAD or offset + HEADER.size + payload > len(data):
            raise Damaged("no frame")
        if version != VERSION:
            raise Damaged(f"version {version} of the format, this reader knows {VERSION}")
        self.offset = offset
        self.bytes = HEADER.size + payload
        frame = bytearray(data[offset:offset + self.bytes])
        frame[CRC_OFFSET:CRC_OFFSET + 4] = b"\0\0\0\0"
        if check_crc and crc32c(frame) != crc:
            raise Damaged("checksum")
        self._payload = bytes(frame[HEADER.size:])

    @property
    def name(self):
        return TABLES[self.table][0] if self.table in TABLES else f"table {self.table}"

    def columns(self):
        """Lists of int and None (absent), then lists of str, each with a value a row."""
        columns = []
        at = 0
        while at < len(self._payload):
            raw_bytes, stored_bytes, count, _ = BLOCK.unpack_from(self._payload, at)
            at += BLOCK.size
            raw = self._payload[at:at + stored_bytes]
            at += stored_bytes
            if stored_bytes != raw_bytes:
                raw = zstandard.ZstdDecompressor().decompress(raw, max_output_size=raw_bytes)
            if len(raw) != raw_bytes:
                raise Damaged("a block is cut short")
            column_at = 0
            for _ in range(count):
                encoding, length = COLUMN.unpack_from(raw, column_at)
                column_at += COLUMN.size
                columns.append(_decode(encoding, raw[column_at:column_at + length], self.rows))
                column_at += length
        if len(columns) != self.column_count:
            raise Damaged("columns are missing")
        return columns


def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _decode(encoding, data, rows):
    if encoding == 16:
        return _decode_texts(data, rows)
    if encoding > 2:
        raise Damaged(f"encoding {encoding} of a column")
    values = []
    state = [0] * (encoding + 1)  # the value, and its differences
    at = 0
    while len(values) < rows:
        coded, at = _varint(data, at)
        repeats = 1
        if coded == 0:
            more, at = _varint(data, at)
            repeats += more
        if len(values) + repeats > rows:
            raise Damaged("a column has too many values")
        for _ in range(repeats):
            state[encoding] = coded >> 1 ^ -(coded & 1)
            # Each order adds to the one below it; a difference lives on from row to row, the coded one does not.
            for order in range(encoding - 1, -1, -1):
                state[order] = _wrapped(state[order] + state[order + 1])
            values.append(None if state[0] == ABSENT else state[0])
    return values


def _wrapped(value):
    return (value + (1 << 63) & (1 << 64) - 1) - (1 << 63)


def _decode_texts(data, rows):
    values = []
    at = 0
    for _ in range(rows):
        length, at = _varint(data, at)
        values.append(data[at:at + length].decode("utf-8", "replace"))
        at += length
    return values


def frames(data, check_crc=True):
    """Every whole frame of the bytes of a recording. What is damaged is passed over: the next frame is looked for."""
    offset = 0
    while offset + HEADER.size <= len(data):
        try:
            frame = Frame(data, offset, check_crc)
        except Damaged:
            offset = data.find(MAGIC.to_bytes(4, "little"), offset + 1)
            if offset < 0:
                return
            continue
        yield frame
        offset += frame.bytes


def column_names(frame):
    _, ints, texts = TABLES[frame.table]
    ints = ints.split()
    if ints[-1:] == ["*"]:
        ints[-1:] = [f"c{i}" for i in range(frame.column_count - len(ints) + 1)]
    return ints + texts.split()


def rows(data, table, check_crc=True):
    """The rows of a table as dicts, in the order of the file. A row of samples is {"stream", "t_ns", "c0", ...}: c0 is
    column 0 of the stream; the table streams names its series."""
    for frame in frames(data, check_crc):
        if frame.name != table:
            continue
        names = column_names(frame)
        for values in zip(*frame.columns()):
            row = {"stream": frame.stream} if "c0" in names else {}
            row.update(zip(names, values))
            yield row


def main(arguments):
    if len(arguments) not in (1, 2) or arguments[0].startswith("-"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    table = arguments[1] if len(arguments) == 2 else None
    known = [name for name, _, _ in TABLES.values()]
    if table is not None and table not in known:
        print(f"attune_reader: there is no table '{table}'; there are {', '.join(known)}", file=sys.stderr)
        return 2
    try:
        with open(arguments[0], "rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        print(f"attune_reader: {arguments[0]}: {error}", file=sys.stderr)
        return 1
    if table is not None:
        for row in rows(data, table):
            print(json.dumps(row))
        return 0
    counts = {}
    for frame in frames(data):
        total = counts.setdefault(frame.name, [0, 0])
        total[0] += 1
        total[1] += frame.rows
    print(f"{'table':<12} {'frames':>8} {'rows':>12}")
    for name, (frame_count, row_count) in counts.items():
        print(f"{name:<12} {frame_count:>8} {row_count:>12}")
    return 0 if counts else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BrokenPipeError:
        sys.exit(0)
