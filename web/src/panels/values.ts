// All lines of all charts as numbers: at the cursor, and over the shown range of time.

import { SeriesKind } from '../session/model';
import type { Chart } from '../charts/chart';
import { totals, type Totals } from '../charts/combine';
import { formatValue, type Display } from '../charts/format';
import type { Range } from '../session/view';
import { partsOf, words } from './columns';
import { TablePanel, type Column } from './table';

export interface ValuesHost {
  charts(): Chart[];
  range(): Range;
}

interface Row {
  chart: Chart;
  index: number;
  totals: Totals;
}

/** Totals go over all points: often enough for the eye. */
const REFRESH_MS = 400;

/** What a rate amounts to: pages instead of pages a second, CPU seconds instead of percent. */
function amountDisplay({ chart, index }: Row): Display | null {
  const { first } = chart.traces[index];
  if (first.kind !== SeriesKind.Counter) return null;
  if (first.unit === 'ns') return { unit: 's', factor: 1e-9, prefixes: 'decimal' };
  if (first.unit === 'bytes') return { unit: 'B', factor: 1, prefixes: 'binary' };
  return { unit: first.unit === '1' ? '' : first.unit, factor: 1, prefixes: 'decimal' };
}

export class ValueTable extends TablePanel<Row> {
  private rows: Row[] = [];
  private refreshed = -Infinity;
  private timer = 0;

  constructor(private readonly host: ValuesHost) {
    super('Nothing is shown.', (row) => row.chart.root.scrollIntoView({ block: 'nearest', behavior: 'smooth' }));
    this.table.setColumns(this.columns(), null, [words('Unit', '', (row) => row.chart.display(row.index).unit), words('Unit of the total', '', (row) => amountDisplay(row)?.unit ?? '')]);
  }

  override get count(): number {
    return this.host.charts().reduce((sum, chart) => sum + chart.traces.length, 0);
  }

  /** Charts changed. */
  override render(): void {
    this.rows = this.host.charts().flatMap((chart) => chart.traces.map((_, index) => ({ chart, index, totals: { amount: NaN, mean: NaN, low: NaN, high: NaN } })));
    this.refreshed = -Infinity;
    this.table.setRows(this.rows);
  }

  /** The cursor or the range moved. */
  override refresh(): void {
    if (this.root.offsetParent === null) return;
    const wait = this.refreshed + REFRESH_MS - performance.now();
    if (wait > 0) {
      // Nothing may call again where nothing moves any more.
      window.clearTimeout(this.timer);
      this.timer = window.setTimeout(() => this.refresh(), wait);
    } else {
      this.refreshed = performance.now();
      const { t0, t1 } = this.host.range();
      for (const row of this.rows) {
        const member = row.chart.member(row.index);
        if (member) row.totals = totals(member, t0, t1);
      }
    }
    this.table.refresh();
  }

  private columns(): Column<Row>[] {
    const value = (title: string, hint: string, rank: (row: Row) => number): Column<Row> => ({
      title, hint, numeric: true, width: 'minmax(92px, 1fr)',
      rank: (row) => rank(row) * row.chart.display(row.index).factor,
      show: (row) => formatValue(rank(row), row.chart.display(row.index)),
    });
    const amount = (row: Row): number => row.totals.amount * (amountDisplay(row)?.factor ?? NaN);
    return [
      {
        title: 'Line', numeric: false, width: 'minmax(120px, 1.6fr)', rank: (row) => row.chart.traces[row.index].name,
        show: (row, cell) => {
          const [swatch, name, note] = partsOf(cell, 'i', 'span', 'small');
          swatch.className = 'swatch';
          swatch.style.background = row.chart.color(row.index);
          name.textContent = row.chart.traces[row.index].name;
          note.textContent = row.chart.traces[row.index].note;
          return null;
        },
      },
      words('Chart', 'minmax(100px, 1.2fr)', (row) => row.chart.group.title),
      value('Cursor', 'At the cursor, or the newest value', (row) => row.chart.valueAt(row.index, row.chart.moment())),
      value('Mean', 'Over the shown time', (row) => row.totals.mean),
      value('Lowest', 'Of all samples in the shown time', (row) => row.totals.low),
      value('Highest', 'Of all samples in the shown time', (row) => row.totals.high),
      {
        title: 'Total', hint: 'What the rate amounts to over the shown time', numeric: true, width: 'minmax(92px, 1fr)', rank: amount,
        show: (row) => {
          const display = amountDisplay(row);
          return display ? formatValue(row.totals.amount, display) : '';
        },
      },
    ];
  }
}
