// What is run: the console file of docs/console.md, as the form holds it. The server reads the file; here it is written.

export interface Description {
  program: string;
  arguments: string[];
  folder: string;
  input: string;
  environment: Record<string, string>;
  openmp?: { threads: number };
  mpi?: { ranks: number; implementation: string; hosts: string; arguments: string[] };
  /** Options of `attune run`, by their names. */
  observe: Record<string, string | string[] | boolean>;
}

export function emptyDescription(): Description {
  return { program: '', arguments: [], folder: '', input: '', environment: {}, observe: {} };
}

/** In ASCII; half a character alone is none. */
function quoted(text: string): string {
  const whole = text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '\ufffd');
  return [...JSON.stringify(whole)].map((c) => {
    const code = c.codePointAt(0) ?? 0;
    if (code < 0x7f) return c;
    return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
  }).join('');
}

function written(value: string | string[] | boolean | number): string {
  if (Array.isArray(value)) return `[${value.map(quoted).join(', ')}]`;
  return typeof value === 'string' ? quoted(value) : String(value);
}

type Values = Record<string, string | string[] | boolean | number>;

/** Lines of a table; what says nothing is left out. */
function lines(values: Values, key: (name: string) => string = (name) => name): string[] {
  return Object.entries(values).filter(([, value]) => value !== '' && !(Array.isArray(value) && value.length === 0)).map(([name, value]) => `${key(name)} = ${written(value)}`);
}

function table(name: string, body: string[]): string[] {
  return body.length > 0 ? ['', `[${name}]`, ...body] : [];
}

export function toToml({ program, arguments: words, folder, input, environment, openmp, mpi, observe }: Description): string {
  // A program that is not given is the server's to complain about, and a variable may be empty.
  const top = [`program = ${quoted(program)}`, ...lines({ arguments: words, folder, input })];
  const variables = Object.entries(environment).map(([name, value]) => `${quoted(name)} = ${quoted(value)}`);
  return [...top, ...table('openmp', openmp ? lines(openmp) : []), ...table('mpi', mpi ? lines(mpi as unknown as Values) : []), ...table('environment', variables), ...table('observe', lines(observe))].join('\n') + '\n';
}
