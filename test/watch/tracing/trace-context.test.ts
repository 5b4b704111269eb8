import { trace } from '@opentelemetry/api';
import { describe, expect, it } from 'vitest';
import { parentOf } from '../../../src/watch/tracing/trace-context.js';

const TRACE = 'a'.repeat(32);
const SPAN = 'b7ad6b7169203331';
const TRACEPARENT = `00-${TRACE}-${SPAN}-01`;

/** The parent that a client's headers name. */
function parentIn(headers: Readonly<Record<string, string>>): ReturnType<typeof trace.getSpanContext> {
  return trace.getSpanContext(parentOf((key) => headers[key]));
}

describe('the parent of a span', () => {
  it('is that of the client, with its state', () => {
    const parent = parentIn({ traceparent: TRACEPARENT, tracestate: 'vendor=mine' });
    expect(parent).toMatchObject({ traceId: TRACE, spanId: SPAN, traceFlags: 1 });
    expect(parent?.traceState?.serialize()).toBe('vendor=mine');
  });

  it('may be in a later version, with more behind it', () => {
    expect(parentIn({ traceparent: `01-${TRACE}-${SPAN}-01-x` })).toMatchObject({ traceId: TRACE });
  });

  it.each([
    ['is malformed', { traceparent: 'x', tracestate: 'vendor=1' }],
    ['is of zeros', { traceparent: `00-${'0'.repeat(32)}-${SPAN}-01`, tracestate: 'vendor=1' }],
    ['is of no version', { traceparent: `ff-${TRACE}-${SPAN}-01` }],
    ['is in capitals', { traceparent: `00-${'A'.repeat(32)}-${SPAN}-01` }],
    ['has more behind it than its version allows', { traceparent: `${TRACEPARENT}-x` }],
    ['is long', { traceparent: `01-${TRACE}-${SPAN}-01-${'x'.repeat(4_000)}` }],
    ['is missing', { tracestate: 'vendor=1' }],
  ])('is none where the traceparent %s', (_, headers) => {
    expect(parentIn(headers)).toBeUndefined();
  });

  it.each([
    [512, 512],
    [513, undefined],
  ])('has a state that came with %i characters in %s', (length, kept) => {
    const tracestate = `a=${'x'.repeat(254)},b=`.padEnd(length, 'y');
    const parent = parentIn({ traceparent: TRACEPARENT, tracestate });
    expect(parent?.traceState?.serialize().length).toBe(kept);
  });
});
