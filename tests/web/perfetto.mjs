// What a Perfetto trace says of the states of threads, by the protobuf alone.

/** Fields of a message: [number, value]; a value is a BigInt, or the bytes of text or of a message. */
function* fields(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const type = tag & 7;
    if (type === 0) yield [tag >> 3, varint()];
    else if (type === 1) {
      yield [tag >> 3, view.getFloat64(at, true)];
      at += 8;
    } else if (type === 2) {
      const length = Number(varint());
      yield [tag >> 3, bytes.subarray(at, at + length)];
      at += length;
    } else throw new Error(`wire type ${type}`);
  }
}

const field = (bytes, number) => {
  for (const [found, value] of fields(bytes)) if (found === number) return value;
  return undefined;
};
const text = (bytes) => (bytes === undefined ? '' : new TextDecoder().decode(bytes));

/** By thread of a recording (its tracks have the ids of elements): tid, and seconds by state. */
export function statesOf(trace) {
  const [threads, counters] = [new Map(), new Map()];
  for (const [, packet] of fields(trace)) {
    const descriptor = field(packet, 60);
    if (descriptor !== undefined) {
      const [uuid, name, parent, thread] = [field(descriptor, 1), text(field(descriptor, 2)), field(descriptor, 5), field(descriptor, 4)];
      if (thread !== undefined) threads.set(uuid, { tid: Number(field(thread, 2)), seconds: {} });
      else if (name.startsWith('state ')) counters.set(uuid, { state: name.slice('state '.length), parent, t: 0n, percent: 0, ns: 0 });
      continue;
    }
    const event = field(packet, 11);
    const counter = event === undefined ? undefined : counters.get(field(event, 11));
    if (!counter) continue;
    const t = field(packet, 8);
    counter.ns += (counter.percent / 100) * Number(t - counter.t);
    [counter.t, counter.percent] = [t, field(event, 44)];
  }
  const known = new Map();
  for (const { state, parent, percent, ns } of counters.values()) {
    if (percent !== 0) throw new Error(`${state} does not end`);
    const thread = threads.get(parent) ?? { tid: null, seconds: {} };
    thread.seconds[state] = ns * 1e-9;
    known.set(Number(parent), thread);
  }
  return known;
}
