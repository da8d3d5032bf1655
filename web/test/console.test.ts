import { describe, expect, it } from 'vitest';
import { emptyDescription, toToml } from '../src/console/description';
import { plainText } from '../src/console/output';
import { stateOf, type Run } from '../src/console/runs';
import { joinWords, splitWords } from '../src/console/words';

describe('arguments', () => {
  it('are split as a shell does, without expanding anything', () => {
    expect(splitWords(`-n 1000  'two words' "a \\"b\\" $HOME" c\\ d '' *`)).toEqual(['-n', '1000', 'two words', 'a "b" $HOME', 'c d', '', '*']);
    expect(splitWords('')).toEqual([]);
    expect(() => splitWords(`it's`)).toThrow('has no end');
  });

  it('come back as they were', () => {
    for (const words of [['-n', '1'], ['', ' ', `it's`, '"', '\\', 'a\nb', 'ü'], ['*', '$x']]) expect(splitWords(joinWords(words))).toEqual(words);
  });
});

describe('console file', () => {
  it('says what the form says, and nothing else', () => {
    expect(toToml({ ...emptyDescription(), program: 'ls' })).toBe('program = "ls"\n');
    expect(toToml({
      program: './a', arguments: ['-n', 'é😀\u007f"\\'], folder: '/w', input: '', environment: { A: '', 'b c': '1' }, openmp: { threads: 2 },
      mpi: { ranks: 4, implementation: '', hosts: '', arguments: [] }, observe: { level: 'blame', sensors: ['cpu:sum', 'vmstat'], 'trace-stream': true, 'keep-awake': false, interval: '' },
    })).toBe(`program = "./a"
arguments = ["-n", "\\u00e9\\U0001f600\\u007f\\"\\\\"]
folder = "/w"

[openmp]
threads = 2

[mpi]
ranks = 4

[environment]
"A" = ""
"b c" = "1"

[observe]
level = "blame"
sensors = ["cpu:sum", "vmstat"]
trace-stream = true
keep-awake = false
`);
  });

  it('has no half characters', () => expect(toToml({ ...emptyDescription(), program: 'a\ud800b' })).toBe('program = "a\\ufffdb"\n'));
});

describe('output', () => {
  it('is what a terminal would show, without colours', () => {
    expect(plainText('\x1b[1;31mred\x1b[0m\r\n10 %\r100 %\nlast\r')).toBe('red\n100 %\nlast');
    expect(plainText('\x1b]0;title\x07text')).toBe('text');
  });
});

describe('a run', () => {
  const run: Run = { run: 1, stage: 'ended', title: 'a', host: '', pid: 1, start_ns: 1, end_ns: 2, exit_code: 0, exit_signal: 0, stop_asked: false, output_bytes: 0, recording_bytes: 0 };
  it('says how it ended', () => {
    expect(stateOf(run)).toMatchObject({ text: 'ended', look: 'good' });
    expect(stateOf({ ...run, exit_code: 3 })).toMatchObject({ text: 'exit code 3', look: 'bad' });
    expect(stateOf({ ...run, exit_signal: 11 }).text).toBe('died: SIGSEGV');
    expect(stateOf({ ...run, exit_signal: 15, stop_asked: true })).toMatchObject({ text: 'stopped: SIGTERM', look: '' });
    expect(stateOf({ ...run, exit_signal: 60 }).text).toBe('died: signal 60');
    expect(stateOf({ ...run, stage: 'lost' }).text).toBe('ended');
    expect(stateOf({ ...run, stage: 'runs', host: 'other' }).text).toBe('on other');
  });
});
