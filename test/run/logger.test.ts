import { describe, expect, it } from 'vitest';
import { type LogOptions, openLogger } from '../../src/run/logger.js';

const ESCAPE = '\u001b';

async function written(options: Partial<LogOptions>, fields: object, message = 'words'): Promise<string> {
  const lines: string[] = [];
  const output = { write: (line: string): void => void lines.push(line) };
  const logger = await openLogger(output, { level: 'info', format: 'auto', terminal: false, ...options });
  logger.warn(fields, message);
  return lines.join('');
}

describe('a log line', () => {
  it.each([
    ['in a pipe', { format: 'auto', terminal: false }],
    ['with the format json, even at a terminal', { format: 'json', terminal: true }],
  ] as const)('is JSON with the level as a word and an ISO time %s', async (_, options) => {
    expect(JSON.parse(await written(options, { key: 'value' }))).toMatchObject({
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
      key: 'value',
      msg: 'words',
    });
  });

  it.each([
    ['at a terminal', { format: 'auto', terminal: true }],
    ['with the format pretty, even in a pipe', { format: 'pretty', terminal: false }],
  ] as const)('is one line with time, level, message and fields %s', async (_, options) => {
    const line = (await written(options, { key: 'value' })).replaceAll(/\u001b\[\d+m/g, '');
    expect(line).toMatch(/^\[\d\d:\d\d:\d\d\.\d{3}\] WARN: words \{"key":"value"\}\n$/);
  });

  it('has no colors in a pipe', async () => {
    expect(await written({ format: 'pretty' }, { key: 'value' })).not.toContain(ESCAPE);
  });

  it.each([
    ['a message', {}, `a${ESCAPE}[2Jb`],
    ['a field', { text: `a${ESCAPE}[2Jb` }, 'words'],
    ['the stack of an error', { err: new Error(`a${ESCAPE}[2Jb`) }, 'words'],
  ])('contains no terminal control sequence from %s', async (_, fields, message) => {
    const line = await written({ format: 'pretty' }, fields, message);
    expect(line).not.toContain(ESCAPE);
    expect(line).toContain('[2Jb');
  });

  it('shows the stack of an error on separate lines', async () => {
    const line = await written({ format: 'pretty' }, { err: new Error('broken') });
    expect(line).toMatch(/Error: broken\n\s+at /);
  });
});
