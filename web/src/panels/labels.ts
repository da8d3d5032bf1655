// All labels by their time.

import { formatClock, formatDate, formatDuration } from '../charts/format';
import type { Label, SessionModel } from '../session/model';
import { Table } from './table';

export interface LabelsHost {
  model: SessionModel;
  /** Show the time around this moment. */
  onGo(t: number): void;
}

export class LabelList {
  private readonly table: Table<Label>;

  constructor(private readonly host: LabelsHost) {
    const { model } = host;
    this.table = new Table<Label>('No labels. The key L adds one at the pointer, or now; attune ctl label TEXT does too.', (label) => host.onGo(label.t));
    this.table.setColumns([
      { title: 'Time', numeric: false, width: '180px', rank: (label) => label.t, show: (label) => `${formatDate(model.wallMs(label.t))} ${formatClock(model.wallMs(label.t), 1e6)}` },
      { title: 'After the start', numeric: true, width: '120px', rank: (label) => label.t, show: (label) => formatDuration(label.t - model.extent.t0) },
      { title: 'Text', numeric: false, width: '1fr', rank: (label) => label.text, show: (label) => label.text },
    ]);
  }

  get root(): HTMLElement {
    return this.table.root;
  }

  get count(): number {
    return this.host.model.labels.length;
  }

  render(): void {
    this.table.setRows(this.host.model.labels);
  }

  refresh(): void {
    this.table.refresh();
  }
}
