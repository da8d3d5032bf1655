// The WebSocket: logging in, credits, reconnecting. What the messages mean is the model's affair.

import type { Frame } from '../wire/frame';
import type { ConsoleRequest } from '../console/panel';
import type { PairRequest } from '../compare/pair_chart';
import type { TimelineRequest } from '../timeline/spans';
import type { DocumentRequest } from './documents';
import type { ViewRequest } from './view';

export type ConnectionState = 'connecting' | 'open' | 'waiting' | 'refused';

export interface ClientMessage {
  credits?: number;
  revision?: number;
  view?: ViewRequest;
  label?: { text: string; t?: number };
  control?: { paused: boolean } | { interval_ns: number; sensor?: string };
  load?: { bytes: number; name: string; compare: boolean };
  /** null: no more. */
  compare?: { discrete: boolean } | null;
  pair?: PairRequest;
  document?: DocumentRequest;
  timeline?: TimelineRequest;
  source?: { site: number };
  console?: ConsoleRequest;
  /** An empty value: the knob is taken back. */
  tune?: { knob: string; value: string; token: string };
}

export interface ConnectionHandlers {
  onState(state: ConnectionState): void;
  onMessage(message: ArrayBuffer | Frame[]): void;
}

/** What answers the page: a server, or the file of an exported recording (exported.ts). */
export interface Transport {
  readonly open: boolean;
  connect(): Promise<void>;
  /** Goes on with what public/early.js began. @return whether it did: one that is not there, or is used, cannot be gone on with */
  goOn(): Promise<boolean>;
  send(message: ClientMessage): void;
  /** Shows what the server itself has, again. */
  restart(): void;
  /**
   * Sends a recording, which the server then shows on this connection instead, or compares with what it shows.
   * @param onProgress of the share that is sent @return whether all was sent
   */
  sendFile(file: File, compare: boolean, onProgress: (share: number) => void): Promise<boolean>;
}

const FIRST_RETRY_MS = 200;
const LAST_RETRY_MS = 4000;
/** The server takes messages of at most 64 KiB. */
const PIECE_BYTES = 60 << 10;
const MAX_BUFFERED_BYTES = 4 << 20;
const BUFFER_WAIT_MS = 5;

/** Gives the token of the page's address to the server, which answers with a cookie. */
export async function logIn(token: string): Promise<boolean> {
  const answer = await fetch('/login', { method: 'POST', body: token, headers: { 'Content-Type': 'text/plain' } });
  return answer.ok;
}

declare global {
  interface Window {
    /** A connection of public/early.js, and what came by it so far; null: it could not log in. */
    attuneEarly?: Promise<{ socket: WebSocket; messages: ArrayBuffer[] } | null>;
  }
}

export class Connection implements Transport {
  private socket: WebSocket | null = null;
  private retryMs = FIRST_RETRY_MS;
  private timer = 0;

  constructor(private readonly handlers: ConnectionHandlers) {}

  get open(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  async goOn(): Promise<boolean> {
    const early = await window.attuneEarly;
    delete window.attuneEarly;
    if (!early || early.socket.readyState > WebSocket.OPEN) return false;
    this.take(early.socket);
    this.handlers.onState(this.open ? 'open' : 'connecting');
    for (const message of early.messages) this.handlers.onMessage(message);
    return true;
  }

  async connect(): Promise<void> {
    window.clearTimeout(this.timer);
    this.handlers.onState('connecting');
    try {
      if ((await fetch('/login')).status === 401) {
        this.handlers.onState('refused');
        return;
      }
    } catch {
      this.retryLater();
      return;
    }
    const socket = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws`);
    socket.binaryType = 'arraybuffer';
    this.take(socket);
  }

  private take(socket: WebSocket): void {
    this.socket = socket;
    socket.onopen = () => {
      this.retryMs = FIRST_RETRY_MS;
      this.handlers.onState('open');
    };
    socket.onmessage = (event: MessageEvent<ArrayBuffer>) => this.handlers.onMessage(event.data);
    socket.onclose = () => {
      if (this.socket !== socket) return;
      this.socket = null;
      this.retryLater();
    };
  }

  send(message: ClientMessage): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  /** Ends this connection and makes another one. */
  restart(): void {
    this.socket?.close();
    this.retryMs = FIRST_RETRY_MS;
  }

  async sendFile(file: File, compare: boolean, onProgress: (share: number) => void): Promise<boolean> {
    const socket = this.socket;
    if (!socket || socket.readyState !== WebSocket.OPEN) return false;
    this.send({ load: { bytes: file.size, name: file.name, compare } });
    for (let at = 0; at < file.size; at += PIECE_BYTES) {
      const piece = await file.slice(at, at + PIECE_BYTES).arrayBuffer();
      while (socket.bufferedAmount > MAX_BUFFERED_BYTES) await new Promise((resolve) => window.setTimeout(resolve, BUFFER_WAIT_MS));
      if (this.socket !== socket || socket.readyState !== WebSocket.OPEN) return false;
      socket.send(piece);
      onProgress(Math.min(1, (at + PIECE_BYTES) / file.size));
    }
    return true;
  }

  private retryLater(): void {
    this.handlers.onState('waiting');
    this.timer = window.setTimeout(() => void this.connect(), this.retryMs);
    this.retryMs = Math.min(this.retryMs * 1.7, LAST_RETRY_MS);
  }
}
