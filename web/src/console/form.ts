// The form that describes a run.

import { el } from '../app/dom';
import { emptyDescription, type Description } from './description';
import { joinWords, splitWords } from './words';

const LIBRARIES: [string, string][] = [['pthread', 'Threads (pthread), or none'], ['openmp', 'OpenMP'], ['mpi', 'MPI'], ['hybrid', 'MPI, each rank with OpenMP']];
const OTHER = 'other';
const IMPLEMENTATIONS: [string, string][] = [['', 'mpirun on the PATH'], ['openmpi', 'Open MPI'], ['mpich', 'MPICH'], [OTHER, 'another launcher …']];

/** An option of `attune run` that has a field, as the server describes it. */
export interface OptionRow {
  name: string;
  title: string;
  /** Stands in the empty field. */
  hint: string;
  help: string;
  kind: 'switch' | 'text' | 'texts';
  /** All values that there are; empty: any text. */
  words: string[];
}

type Value = Description['observe'][string];

/** A field of the form, and how it holds its option. */
interface OptionField {
  row: OptionRow;
  control: HTMLInputElement | HTMLSelectElement;
}

function options(select: HTMLSelectElement, entries: [string, string][]): HTMLSelectElement {
  select.replaceChildren(...entries.map(([value, text]) => el('option', { value }, text)));
  return select;
}

function field(title: string, control: HTMLElement, hint = ''): HTMLLabelElement {
  // A label's name would have the choices of a select in it.
  control.setAttribute('aria-label', title);
  return el('label', { className: 'field', title: hint }, el('span', {}, title), control);
}

function text(placeholder = ''): HTMLInputElement {
  return el('input', { type: 'text', placeholder, spellcheck: false, autocomplete: 'off' });
}

function count(): HTMLInputElement {
  return el('input', { type: 'number', min: '1', step: '1', value: '2' });
}

function controlOf(row: OptionRow): OptionField['control'] {
  if (row.kind === 'switch') return el('input', { type: 'checkbox' });
  if (row.words.length === 0) return text(row.hint);
  return options(el('select', {}), ['', ...row.words].map((word) => [word, word === '' ? row.hint : word]));
}

function shown(value: Value | undefined): string {
  return Array.isArray(value) ? value.join(', ') : String(value ?? '');
}

function valueOf({ row, control }: OptionField): Value {
  if (row.kind === 'switch') return (control as HTMLInputElement).checked || '';
  const value = control.value.trim();
  return row.kind === 'texts' ? value.split(',').map((word) => word.trim()).filter(Boolean) : value;
}

function fill({ row, control }: OptionField, value: Value | undefined): void {
  if (row.kind === 'switch') (control as HTMLInputElement).checked = value === true;
  else control.value = shown(value);
}

export class RunForm {
  readonly root: HTMLFormElement;
  private readonly program = text('./solver');
  private readonly words = text('-n 1000 "two words"');
  private readonly folder = text();
  private readonly input = text('none');
  private readonly environment = el('textarea', { rows: 2, placeholder: 'NAME=value, a line each', spellcheck: false });
  private readonly library = options(el('select', {}), LIBRARIES);
  private readonly threads = count();
  private readonly ranks = count();
  private readonly implementation = options(el('select', {}), IMPLEMENTATIONS);
  private readonly launcher = text('/opt/mpi/bin/mpirun');
  private readonly hosts = text('this host');
  private readonly launcherWords = text('--oversubscribe');
  private readonly observed = el('div', { className: 'field-group' });
  private readonly rest = el('p', { className: 'console-rest', hidden: true });
  private readonly openmpFields: HTMLElement;
  private readonly mpiFields: HTMLElement;
  private readonly launcherField: HTMLElement;
  private fields: OptionField[] = [];
  /** Options that have no field: kept as they came. */
  private others: Description['observe'] = {};

  constructor(onRun: () => void, actions: HTMLElement) {
    this.openmpFields = field('OpenMP threads', this.threads, 'OMP_NUM_THREADS');
    this.launcherField = field('Launcher', this.launcher);
    this.mpiFields = el('div', { className: 'field-group' }, field('Ranks', this.ranks), field('MPI', this.implementation), this.launcherField,
      field('Hosts file', this.hosts, 'One host a line; relative to the folder'), field('More for the launcher', this.launcherWords, 'Arguments of mpirun, as --oversubscribe'));
    this.root = el('form', { className: 'console-form', autocomplete: 'off' },
      el('h3', {}, 'Program'),
      field('Program', this.program, 'A file, relative to the folder, or the name of one on the PATH'), field('Arguments', this.words, 'As a shell takes them; quotes keep words together, nothing is expanded'),
      field('Folder', this.folder, 'Where it works'), field('Input', this.input, 'A file that it reads from standard input'), field('Environment', this.environment, 'Added to that of attune live'),
      el('h3', {}, 'Library'), field('Parallel by', this.library), this.openmpFields, this.mpiFields,
      el('h3', {}, 'Observe'), this.observed, this.rest, actions);
    this.program.addEventListener('input', () => this.program.removeAttribute('aria-invalid'));
    this.root.addEventListener('submit', (event) => {
      event.preventDefault();
      onRun();
    });
    for (const select of [this.library, this.implementation]) select.addEventListener('change', () => this.showFields());
    this.set(emptyDescription());
  }

  /** @param folder of the server, where programs work that name none */
  setFolder(folder: string): void {
    this.folder.placeholder = folder;
  }

  /** The fields of options, once the server has said which there are; choices come first. */
  setOptions(rows: OptionRow[]): void {
    if (this.fields.length > 0) return;
    const chosen = this.others;
    this.fields = [...rows].sort((a, b) => Number(b.words.length > 0) - Number(a.words.length > 0)).map((row) => ({ row, control: controlOf(row) }));
    this.observed.replaceChildren(...this.fields.map(({ row, control }) => field(row.title, control, row.help)));
    this.setObserve(chosen);
  }

  /** It is missing. */
  askForProgram(): void {
    this.program.setAttribute('aria-invalid', 'true');
    this.program.focus({ preventScroll: true });
  }

  get hasProgram(): boolean {
    return this.program.value.trim() !== '';
  }

  /** @throws Error with what is wrong */
  get(): Description {
    const library = this.library.value;
    const observe: Description['observe'] = { ...Object.fromEntries(this.fields.map((each) => [each.row.name, valueOf(each)])), ...this.others };
    const description: Description = { program: this.program.value.trim(), arguments: splitWords(this.words.value), folder: this.folder.value.trim(), input: this.input.value.trim(), environment: this.variables(), observe };
    if (library === 'openmp' || library === 'hybrid') description.openmp = { threads: this.threads.valueAsNumber };
    if (library === 'mpi' || library === 'hybrid') {
      const implementation = this.implementation.value === OTHER ? this.launcher.value.trim() : this.implementation.value;
      description.mpi = { ranks: this.ranks.valueAsNumber, implementation, hosts: this.hosts.value.trim(), arguments: splitWords(this.launcherWords.value) };
    }
    for (const [name, number] of [['threads', description.openmp?.threads], ['ranks', description.mpi?.ranks]] as const)
      if (number !== undefined && !(Number.isInteger(number) && number > 0)) throw new Error(`the number of ${name} is missing`);
    return description;
  }

  set(description: Description): void {
    const { openmp, mpi, observe } = description;
    this.program.value = description.program;
    this.words.value = joinWords(description.arguments);
    this.folder.value = description.folder;
    this.input.value = description.input;
    this.environment.value = Object.entries(description.environment).map(([name, value]) => `${name}=${value}`).join('\n');
    this.library.value = openmp && mpi ? 'hybrid' : mpi ? 'mpi' : openmp ? 'openmp' : 'pthread';
    if (openmp) this.threads.valueAsNumber = openmp.threads;
    if (mpi) {
      const known = IMPLEMENTATIONS.some(([value]) => value === mpi.implementation && value !== OTHER);
      this.ranks.valueAsNumber = mpi.ranks;
      this.implementation.value = known ? mpi.implementation : OTHER;
      this.launcher.value = known ? '' : mpi.implementation;
      this.hosts.value = mpi.hosts;
      this.launcherWords.value = joinWords(mpi.arguments);
    }
    this.setObserve(observe);
    this.showFields();
  }

  private setObserve(observe: Description['observe']): void {
    for (const each of this.fields) fill(each, observe[each.row.name]);
    this.others = Object.fromEntries(Object.entries(observe).filter(([name]) => !this.fields.some(({ row }) => row.name === name)));
    this.rest.hidden = Object.keys(this.others).length === 0;
    this.rest.textContent = `Also, from the file: ${Object.entries(this.others).map(([name, value]) => `${name} ${shown(value)}`).join(', ')}`;
  }

  private variables(): Record<string, string> {
    const variables: Record<string, string> = {};
    for (const line of this.environment.value.split('\n')) {
      if (line.trim() === '') continue;
      const at = line.indexOf('=');
      if (at < 1) throw new Error(`in the environment, '${line.trim()}' is not NAME=value`);
      variables[line.slice(0, at).trim()] = line.slice(at + 1);
    }
    return variables;
  }

  private showFields(): void {
    const library = this.library.value;
    this.openmpFields.hidden = library !== 'openmp' && library !== 'hybrid';
    this.mpiFields.hidden = library !== 'mpi' && library !== 'hybrid';
    this.launcherField.hidden = this.implementation.value !== OTHER;
  }
}
