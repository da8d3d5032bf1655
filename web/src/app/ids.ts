// Lists of series as a link has them: 1-4,9.

export function encodeIds(ids: number[]): string {
  const sorted = [...ids].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let i = 0; i < sorted.length; ) {
    let end = i;
    while (end + 1 < sorted.length && sorted[end + 1] === sorted[end] + 1) end++;
    parts.push(end > i ? `${sorted[i]}-${sorted[end]}` : `${sorted[i]}`);
    i = end + 1;
  }
  return parts.join(',');
}

const MAX_IDS = 4096;

export function decodeIds(text: string): number[] {
  const ids: number[] = [];
  for (const part of text.split(',')) {
    const match = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(part);
    if (!match) continue;
    const last = Number(match[2] ?? match[1]);
    for (let id = Number(match[1]); id <= last && ids.length < MAX_IDS; id++) ids.push(id);
  }
  return ids;
}
