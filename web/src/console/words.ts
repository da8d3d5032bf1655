// Arguments as a shell's user writes them, and back. Quotes and backslashes only: nothing is expanded.

/** @throws Error with what is wrong */
export function splitWords(text: string): string[] {
  const words: string[] = [];
  let word: string | null = null;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === "'" || c === '"') {
      const end = closing(text, i);
      if (end < 0) throw new Error(`the quote ${c} in the arguments has no end`);
      const inner = text.slice(i + 1, end);
      word = (word ?? '') + (c === '"' ? inner.replace(/\\(["\\])/g, '$1') : inner);
      i = end;
    } else if (c === '\\' && i + 1 < text.length) {
      word = (word ?? '') + text[++i];
    } else if (/\s/.test(c)) {
      if (word !== null) words.push(word);
      word = null;
    } else {
      word = (word ?? '') + c;
    }
  }
  if (word !== null) words.push(word);
  return words;
}

/** Where the quote that begins at `from` ends; -1: nowhere. */
function closing(text: string, from: number): number {
  for (let i = from + 1; i < text.length; i++) {
    if (text[from] === '"' && text[i] === '\\') i++;
    else if (text[i] === text[from]) return i;
  }
  return -1;
}

export function joinWords(words: string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, `'\\''`)}'`)).join(' ');
}
