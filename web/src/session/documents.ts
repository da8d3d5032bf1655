// Documents that the server computes of the data as a whole, kept up to date while somebody looks: it is asked for again two seconds
// after each answer, until nothing more can come.

import type { RawMessage } from './model';
import type { Range } from './view';

/**
 * The documents that there are: their names and the types of their JSON. Each is declared beside its types:
 * `declare module '../session/documents' { interface DocumentTypes { 'messages': Messages } }`.
 */
export interface DocumentTypes {}
export type DocumentName = keyof DocumentTypes;

export interface DocumentRequest {
  name: DocumentName;
  version: number;
  /** Of this part of the time; absent: of all. */
  t0?: number;
  t1?: number;
}

const ASK_AGAIN_MS = 2000;

interface Held {
  version: number;
  text: unknown;
  /** That `text` is of, and that was asked for; null: all the time. */
  range: Range | null;
  askedRange: Range | null;
  error: string;
  asked: boolean;
  /** When to ask again; Infinity: nothing more comes. */
  due: number;
}

export class Documents {
  private readonly held = new Map<DocumentName, Held>();

  /** @param onChange another version, or another error, came */
  constructor(private readonly ask: (request: DocumentRequest) => void, private readonly onChange: (name: DocumentName) => void) {}

  get<Name extends DocumentName>(name: Name): DocumentTypes[Name] | null {
    return (this.held.get(name)?.text ?? null) as DocumentTypes[Name] | null;
  }

  /** Why there is none; '': there is one, or it is being computed. */
  errorOf(name: DocumentName): string {
    return this.held.get(name)?.error ?? '';
  }

  /** The part of the time that the document is of; null: all. */
  rangeOf(name: DocumentName): Range | null {
    return this.held.get(name)?.range ?? null;
  }

  /** Asks for what is due. @param now in ms, as of requestAnimationFrame  @param ranges parts of the time, of those that are not wanted of all */
  keep(names: Iterable<DocumentName>, now: number, ranges: Partial<Record<DocumentName, Range>> = {}): void {
    for (const name of names) {
      const held = this.held.get(name) ?? { version: 0, text: null, range: null, askedRange: null, error: '', asked: false, due: 0 };
      this.held.set(name, held);
      if (held.asked) continue;
      const range = ranges[name] ?? null;
      if (!sameRange(range, held.askedRange)) [held.askedRange, held.version, held.due] = [range, 0, 0];
      if (now < held.due) continue;
      held.asked = true;
      this.ask({ name, version: held.version, ...range });
    }
  }

  /** A new connection: what was asked for is not answered any more. @param forget another session */
  reconnected(forget: boolean): void {
    if (forget) this.held.clear();
    for (const held of this.held.values()) [held.asked, held.due, held.version] = [false, 0, 0];
  }

  take({ envelope }: RawMessage, now: number): void {
    const name = envelope.get('name') as DocumentName;
    const held = this.held.get(name);
    if (!held) return;
    held.asked = false;
    held.due = envelope.get('growing') === '1' ? now + ASK_AGAIN_MS : Infinity;
    held.version = Number(envelope.get('version') ?? 0);
    held.error = envelope.get('error') ?? '';
    const text = envelope.get('text');
    if (text !== undefined) [held.text, held.range] = [JSON.parse(text), held.askedRange];
    if (text !== undefined || held.error !== '') this.onChange(name);
  }
}

/** A document that a panel is made of. */
export interface DocumentUse {
  readonly name: DocumentName;
  /** There is another version, or another error. */
  changed(documents: Documents): void;
}

/** @param show a new version, and the part of the time that it is of; null: all */
export function uses<Name extends DocumentName>(name: Name, show: (document: DocumentTypes[Name], range: Range | null) => void = () => undefined): DocumentUse {
  return {
    name,
    changed: (documents) => {
      const document = documents.get(name);
      if (document !== null) show(document, documents.rangeOf(name));
    },
  };
}

export function sameRange(a: Range | null, b: Range | null): boolean {
  return a?.t0 === b?.t0 && a?.t1 === b?.t1;
}
