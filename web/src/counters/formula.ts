// Formulas over counts of events: numbers, names of events, + - * / and parentheses. Names may have - : / = and , in them: at each
// place the longest known name is taken.

export interface Formula {
  text: string;
  /** @param valueOf the count of a name @return not finite: it has no value, as where something is divided by 0 */
  evaluate(valueOf: (name: string) => number): number;
}

/** Why a text is no formula. */
export class FormulaError extends Error {
  /** @param at where in the text */
  constructor(message: string, readonly at: number) {
    super(message);
  }
}

type Term = (valueOf: (name: string) => number) => number;

const NUMBER = /(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y;
/** What looks like a name. */
const WORD = /[A-Za-z_@][\w:.@-]*/y;
const IN_NAME = /[\w:.]/;
const OPERATORS: Record<string, (a: number, b: number) => number> = { '+': (a, b) => a + b, '-': (a, b) => a - b, '*': (a, b) => a * b, '/': (a, b) => a / b };
/** Deeper nesting is a mistake. */
const MAX_DEPTH = 100;

/** @param names of what has values @throws FormulaError */
export function parseFormula(text: string, names: readonly string[]): Formula {
  const parser = new Parser(text, [...names].sort((a, b) => b.length - a.length));
  return { text: text.trim(), evaluate: parser.whole() };
}

class Parser {
  private at = 0;
  private depth = 0;

  constructor(private readonly text: string, private readonly names: string[]) {}

  whole(): Term {
    const term = this.sum();
    if (this.next !== '') throw this.error(this.next === ')' ? 'There is no ( for this )' : `Expected + - * or / before “${this.rest()}”`);
    return term;
  }

  private sum(): Term {
    return this.chain(['+', '-'], () => this.product());
  }

  private product(): Term {
    return this.chain(['*', '/'], () => this.factor());
  }

  /** Operands of operators of one rank, from left to right. */
  private chain(operators: string[], operand: () => Term): Term {
    let left = operand();
    while (operators.includes(this.next)) {
      const [a, apply] = [left, OPERATORS[this.next]];
      this.at++;
      const b = operand();
      left = (valueOf) => apply(a(valueOf), b(valueOf));
    }
    return left;
  }

  private factor(): Term {
    if (++this.depth > MAX_DEPTH) throw this.error('The formula is nested too deeply');
    try {
      return this.signed();
    } finally {
      this.depth--;
    }
  }

  private signed(): Term {
    const { next } = this;
    if (next === '-' || next === '+') {
      this.at++;
      const term = this.factor();
      return next === '-' ? (valueOf) => -term(valueOf) : term;
    }
    if (next !== '(') return this.operand();
    const open = this.at++;
    const term = this.sum();
    if (this.next !== ')') throw this.next === '' ? new FormulaError('There is no ) for this (', open) : this.error(`Expected ) before “${this.rest()}”`);
    this.at++;
    return term;
  }

  private operand(): Term {
    if (this.next === '') throw this.error(this.at === 0 || this.text.trim() === '' ? 'The formula is empty' : 'Expected a number or an event at the end');
    const name = this.names.find((known) => this.text.startsWith(known, this.at) && this.endsAt(known, this.at + known.length));
    if (name !== undefined) {
      this.at += name.length;
      return (valueOf) => valueOf(name);
    }
    const number = this.match(NUMBER);
    if (number !== '') {
      const value = Number(number);
      this.at += number.length;
      return () => value;
    }
    const word = this.match(WORD);
    throw this.error(word === '' ? `Expected a number or an event before “${this.rest()}”` : `There is no “${word}”${this.suggestion(word)}`);
  }

  /** "cycles" is not the beginning of "cycles:u". */
  private endsAt(name: string, end: number): boolean {
    return !IN_NAME.test(this.text.charAt(end)) || !IN_NAME.test(name.charAt(name.length - 1));
  }

  private suggestion(word: string): string {
    const short = word.toLowerCase();
    const shortestFirst = [...this.names].reverse();
    const near = shortestFirst.find((name) => name.toLowerCase().startsWith(short.slice(0, Math.max(3, short.length - 2)))) ?? shortestFirst.find((name) => name.toLowerCase().includes(short));
    return near === undefined ? `: there are ${[...this.names].sort().join(', ')}` : `: did you mean ${near}?`;
  }

  /** The next character that is no space; '': the end. */
  private get next(): string {
    while (/\s/.test(this.text.charAt(this.at))) this.at++;
    return this.text.charAt(this.at);
  }

  private match(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    return pattern.exec(this.text)?.[0] ?? '';
  }

  private rest(): string {
    const rest = this.text.slice(this.at).trim();
    return rest.length > 12 ? `${rest.slice(0, 12)}…` : rest;
  }

  private error(message: string): FormulaError {
    return new FormulaError(message, this.at);
  }
}
