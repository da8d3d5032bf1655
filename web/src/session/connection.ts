// The WebSocket: logging in, credits, reconnecting. What the messages mean is the model's affair.

import type { ViewRequest } from './view';

export type ConnectionState = 'connecting' | 'open' | 'waiting' | 'refused';

export interface ClientMessage {
  credits?: number;
  revision?: number;
  view?: ViewRequest;
  label?: { text: string; t?: number };
}

export interface ConnectionHandlers {
  onState(state: ConnectionState): void;
  onMessage(message: ArrayBuffer): void;
}

const FIRST_RETRY_MS = 200;
const LAST_RETRY_MS = 4000;

/** Gives the token of the page's address to the server, which answers with a cookie. */
export async function logIn(token: string): Promise<boolean> {
  const answer = await fetch('/login', { method: 'POST', body: token, headers: { 'Content-Type': 'text/plain' } });
  return answer.ok;
}

export class Connection {
  private socket: WebSocket | null = null;
  private retryMs = FIRST_RETRY_MS;
  private timer = 0;

  constructor(private readonly handlers: ConnectionHandlers) {}

  get open(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  async connect(): Promise<void> {
    window.clearTimeout(this.timer);
    this.handlers.onState('connecting');
    try {
      const answer = await fetch('/login');
      if (answer.status === 401) {
        this.handlers.onState('refused');
        return;
      }
    } catch {
      this.retryLater();
      return;
    }
    const socket = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws`);
    socket.binaryType = 'arraybuffer';
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
    this.socket = socket;
  }

  send(message: ClientMessage): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  private retryLater(): void {
    this.handlers.onState('waiting');
    this.timer = window.setTimeout(() => void this.connect(), this.retryMs);
    this.retryMs = Math.min(this.retryMs * 1.7, LAST_RETRY_MS);
  }
}
