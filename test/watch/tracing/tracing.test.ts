import { pino } from 'pino';
import { expect, it } from 'vitest';
import { ExportLog } from '../../../src/watch/tracing/tracing.js';

it('the log has one line a minute about impaired tracing, with the number of lines that were left out', () => {
  const lines: Record<string, unknown>[] = [];
  const logger = pino({}, { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) });
  let now = 0;
  const log = new ExportLog(logger, () => now);
  for (let i = 0; i < 100; i++) log.writeError(new Error(`re\0fused ${i}`));
  now = 59_999;
  log.write('still refused');
  now = 60_000;
  log.write('x'.repeat(1_000));
  expect(lines).toMatchObject([
    { level: 40, reason: 're\\u{0}fused 0', leftOut: 0, msg: 'tracing is impaired' },
    { level: 40, reason: `${'x'.repeat(127)}…`, leftOut: 100 },
  ]);
});
