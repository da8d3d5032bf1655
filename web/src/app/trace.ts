// The recording as a file for other programs, made by the server: a document that is saved and not shown.

import type { RawMessage } from '../session/model';
import type { ClientMessage } from '../session/connection';
import { fileName, saveFile } from './save';

declare module '../session/documents' {
  interface DocumentTypes {
    'perfetto': { base64: string };
  }
}

export interface TraceHost {
  send(message: ClientMessage): void;
  title(): string;
  /** '': nothing is made any more. */
  setLoading(text: string): void;
  toast(level: string, text: string): void;
}

export class TraceSaver {
  constructor(private readonly host: TraceHost) {}

  ask(): void {
    this.host.setLoading('Making the trace');
    this.host.send({ document: { name: 'perfetto', version: 0 } });
  }

  /** @return whether the message was the trace */
  take({ kind, envelope }: RawMessage): boolean {
    if (kind !== 'document' || envelope.get('name') !== 'perfetto') return false;
    this.host.setLoading('');
    const error = envelope.get('error');
    if (error !== undefined) {
      this.host.toast('error', error);
      return true;
    }
    const { base64 } = JSON.parse(envelope.get('text') ?? '{"base64":""}') as { base64: string };
    saveFile(fileName(this.host.title().replace(/\.attune$/, ''), 'pftrace'), new Blob([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))]));
    return true;
  }
}
