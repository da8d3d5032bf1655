// Files: the recording for other programs or people, made by the server (a document that is saved and not shown); and recordings of
// the person at the page, which go to the server.

import type { ClientMessage } from '../session/connection';
import type { RawMessage, SessionModel } from '../session/model';
import type { TimeView } from '../session/view';
import { fileName, saveFile } from './save';

declare module '../session/documents' {
  interface DocumentTypes {
    'perfetto': { base64: string };
    'html': { base64: string };
  }
}

const KINDS = {
  'Perfetto trace': { name: 'perfetto', ending: 'pftrace', isOfView: false },
  'HTML page': { name: 'html', ending: 'html', isOfView: false },
  'HTML page of the time in view': { name: 'html', ending: 'html', isOfView: true },
} as const;
export type FileKind = keyof typeof KINDS;
export const FILE_KINDS = Object.keys(KINDS) as FileKind[];

const LEAST_PART_NS = 1000;

export interface FilesHost {
  send(message: ClientMessage): void;
  /** As Transport.sendFile(). */
  sendFile(file: File, compare: boolean, onProgress: (share: number) => void): Promise<boolean>;
  model: SessionModel;
  view: TimeView;
  /** '': nothing is made any more. */
  setLoading(text: string): void;
  toast(level: string, text: string): void;
}

export class Files {
  /** Endings of the files that were asked for, by the names of their documents. */
  private readonly asked = new Map<string, string>();

  constructor(private readonly host: FilesHost) {}

  /** Has the server show a recording, or compare with it. */
  async load(file: File, compare: boolean): Promise<void> {
    const { setLoading, toast } = this.host;
    if (file.size === 0) {
      toast('error', `${file.name} is empty.`);
      return;
    }
    const shown = (share: number): void => setLoading(`Loading ${file.name} · ${Math.floor(share * 100)} %`);
    shown(0);
    // The server's answer is a new hello, or a notice of what is wrong.
    if (!(await this.host.sendFile(file, compare, shown))) {
      setLoading('');
      toast('error', `${file.name} could not be sent: the connection was lost.`);
    } else if (compare) {
      setLoading(`Comparing with ${file.name}`);
    }
  }

  ask(kind: FileKind): void {
    const { name, ending, isOfView } = KINDS[kind];
    const { model: { extent }, view: { range } } = this.host;
    const [t0, t1] = [Math.max(range.t0, extent.t0), Math.min(range.t1, extent.t1)];
    if (isOfView && t1 - t0 < LEAST_PART_NS) {
      this.host.toast('error', 'Nothing of the recording is in view.');
      return;
    }
    this.host.setLoading(`Making the ${name === 'html' ? 'page' : 'trace'}`);
    this.asked.set(name, isOfView ? `part.${ending}` : ending);
    this.host.send({ document: { name, version: 0, ...(isOfView ? { t0: Math.round(t0), t1: Math.round(t1) } : {}) } });
  }

  /** @return whether the message was such a file */
  take({ kind, envelope }: RawMessage): boolean {
    const ending = this.asked.get(envelope.get('name') ?? '');
    if (kind !== 'document' || ending === undefined) return false;
    this.asked.delete(envelope.get('name') ?? '');
    this.host.setLoading('');
    const error = envelope.get('error');
    if (error !== undefined) {
      this.host.toast('error', error);
      return true;
    }
    const { base64 } = JSON.parse(envelope.get('text') ?? '{"base64":""}') as { base64: string };
    saveFile(fileName(this.host.model.title.replace(/\.attune$/, ''), ending), new Blob([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))]));
    return true;
  }
}
