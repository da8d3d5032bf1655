// All labels by their time.

import { formatClock, formatDate, formatDuration } from '../charts/format';
import type { Label, SessionModel } from '../session/model';
import { words } from './columns';
import { TablePanel } from './table';

export interface LabelsHost {
  model: SessionModel;
  /** Show the time around this moment. */
  onGo(t: number): void;
}

export class LabelList extends TablePanel<Label> {

  constructor(private readonly host: LabelsHost) {
    super('No labels. The key L adds one at the pointer, or now; attune ctl label TEXT does too.', (label) => host.onGo(label.t));
    const { model } = host;
    this.table.setColumns([
      { title: 'Time', numeric: false, width: '180px', rank: (label) => label.t, show: (label) => `${formatDate(model.wallMs(label.t))} ${formatClock(model.wallMs(label.t), 1e6)}` },
      { title: 'After the start', numeric: true, width: '120px', rank: (label) => label.t, show: (label) => formatDuration(label.t - model.extent.t0) },
      words('Text', '1fr', (label) => label.text),
    ]);
  }

  override get count(): number {
    return this.host.model.labels.length;
  }

  override render(): void {
    this.table.setRows(this.host.model.labels);
  }
}
