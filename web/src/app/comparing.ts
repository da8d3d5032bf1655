// The comparison with another recording: opened by its first answer, closed by a person, or with the connection that it was on.

import type { ComparePanel } from '../compare/panel';
import type { ClientMessage } from '../session/connection';
import type { RawMessage, SessionModel } from '../session/model';
import { css } from './theme';

export interface ComparingHost {
  model: SessionModel;
  send(message: ClientMessage): void;
  /** Parent of the panel. */
  place(): HTMLElement;
  setLoading(text: string): void;
  onError(text: string): void;
}

export class Comparing {
  /** null: nothing is compared. */
  panel: ComparePanel | null = null;

  constructor(private readonly host: ComparingHost) {}

  /** A connection knows nothing of the comparison on the one before. */
  greet(restarted: boolean): void {
    const { host } = this;
    const { compareWith } = host.model;
    if (compareWith !== '' && (this.panel !== null || restarted)) {
      host.setLoading(`Comparing with ${compareWith}`);
      host.send({ compare: { discrete: false } });
    } else if (this.panel) {
      this.close();
      if (!restarted) host.onError('The connection was lost: load the other recording again to compare.');
    }
  }

  async take(message: RawMessage): Promise<void> {
    const { host } = this;
    const { ComparePanel } = await import('../compare/panel');
    if (message.kind === 'pair') {
      const error = message.envelope.get('error');
      if (error !== undefined) host.onError(error);
      this.panel?.takePair(message);
      return;
    }
    host.setLoading('');
    this.panel ??= new ComparePanel({
      model: host.model, css,
      request: (pair) => host.send({ pair }),
      onDiscrete: (discrete) => host.send({ compare: { discrete } }),
      onClose: () => this.close(),
    });
    if (!this.panel.root.isConnected) host.place().append(this.panel.root);
    this.panel.take(message);
  }

  close(): void {
    if (!this.panel) return;
    this.panel.root.remove();
    this.panel = null;
    this.host.send({ compare: null });
  }
}
