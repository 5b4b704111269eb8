import { pino } from 'pino';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { CallLog, loggable } from '../../src/calls/call-log.js';

let lines: Record<string, unknown>[];
let log: CallLog;

function logOf(access: 'all' | 'failures'): CallLog {
  const write = (line: string): void => void lines.push(JSON.parse(line) as Record<string, unknown>);
  return new CallLog(pino({ level: 'info' }, { write }), access);
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  lines = [];
  log = logOf('failures');
});

const messages = (): unknown[] => lines.map(({ msg, kind, leftOut }) => [msg, kind, leftOut]);

describe('refusals of unauthenticated clients', () => {
  it('are logged up to the limit per second, and the rest is counted in one line', () => {
    for (let i = 0; i < 1_000; i++) log.writeRefusal(true, {}, 'request refused');
    vi.advanceTimersByTime(1_000);
    expect(messages()).toEqual([
      ...Array<unknown>(10).fill(['request refused', undefined, undefined]),
      ['log lines left out', 'unauthenticated', 990],
    ]);
    expect(log.leftOut).toEqual({ unauthenticated: 990, callers: 0, causes: 0 });
  });

  it('are logged again in the next second', () => {
    for (let i = 0; i < 10; i++) log.writeRefusal(true, {}, 'request refused');
    vi.advanceTimersByTime(1_000);
    log.writeRefusal(true, {}, 'request refused');
    expect(lines).toHaveLength(11);
  });

  it('do not use up the limits of callers and of causes', () => {
    for (let i = 0; i < 20; i++) log.writeRefusal(true, {}, 'request refused');
    log.writeRefusal(false, {}, 'a caller');
    log.writeCause('error', {}, 'a cause');
    expect(lines.map(({ msg }) => msg).slice(10)).toEqual(['a caller', 'a cause']);
  });
});

describe('refusals of callers', () => {
  it.each([
    ['are all logged when all calls are logged', 'all', 20],
    ['are limited too when only failures are logged', 'failures', 10],
  ] as const)('%s', (_, access, count) => {
    log = logOf(access);
    for (let i = 0; i < 20; i++) log.writeRefusal(false, {}, 'a caller');
    expect(lines).toHaveLength(count);
  });
});

describe('causes of failures', () => {
  it('are limited too, so that an outage does not fill the log', () => {
    for (let i = 0; i < 17; i++) log.writeCause('warn', {}, 'away');
    vi.advanceTimersByTime(1_000);
    expect(messages().slice(10)).toEqual([['log lines left out', 'causes', 7]]);
  });
});

describe('text from a client', () => {
  it.each([
    ['is unchanged when it is short', '/a.B/C', '/a.B/C'],
    ['is cut to 128 characters', '/'.repeat(4_000), `${'/'.repeat(127)}…`],
    ['has its line breaks escaped', 'a\nb\r\u2028c', 'a\\u{a}b\\u{d}\\u{2028}c'],
    ['has its terminal sequences escaped', '\u001b[2J\u009b1m', '\\u{1b}[2J\\u{9b}1m'],
    ['has its text direction controls escaped', 'a\u202eb', 'a\\u{202e}b'],
  ])('%s', (_, text, shown) => {
    expect(loggable(text)).toBe(shown);
  });
});
