import { diag } from '@opentelemetry/api';
import { globalErrorHandler, loggingErrorHandler, setGlobalErrorHandler } from '@opentelemetry/core';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { ExportLog } from '../../../src/observability/tracing/tracing.js';

/** A log of exports whose clock is that of the test, and its lines. */
function exportLog(now: () => number): { log: ExportLog; lines: readonly Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = [];
  const logger = pino({}, { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) });
  return { log: new ExportLog(logger, now), lines };
}

it('the log has one line a minute about impaired tracing, with the number of lines that were left out', () => {
  let now = 0;
  const { log, lines } = exportLog(() => now);
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

it('the log has what the SDK warns of, and the exports that fail', () => {
  let now = 0;
  const { log, lines } = exportLog(() => (now += 60_000));
  log.listen();
  onTestFinished(() => {
    diag.disable();
    setGlobalErrorHandler(loggingErrorHandler());
  });
  diag.error('no exporter');
  diag.warn('odd');
  diag.info('well');
  globalErrorHandler(Object.assign(new Error('refused'), { code: 14 }));
  expect(lines.map(({ reason }) => reason)).toEqual(['no exporter', 'odd', 'refused 14']);
});
