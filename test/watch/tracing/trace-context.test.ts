import { trace } from '@opentelemetry/api';
import { describe, expect, it } from 'vitest';
import { parentOf } from '../../../src/watch/tracing/spans.js';

const TRACE = 'a'.repeat(32);
const SPAN = 'b7ad6b7169203331';
const TRACEPARENT = `00-${TRACE}-${SPAN}-01`;

/** The parent that a client's headers name. */
function parentIn(headers: Readonly<Record<string, string>>): ReturnType<typeof trace.getSpanContext> {
  return trace.getSpanContext(parentOf((key) => headers[key]));
}

describe('the parent of a span', () => {
  it('is the span of the client, with its trace state', () => {
    const parent = parentIn({ traceparent: TRACEPARENT, tracestate: 'vendor=mine' });
    expect(parent).toMatchObject({ traceId: TRACE, spanId: SPAN, traceFlags: 1 });
    expect(parent?.traceState?.serialize()).toBe('vendor=mine');
  });

  it('may come in a later version, with further fields', () => {
    expect(parentIn({ traceparent: `01-${TRACE}-${SPAN}-01-x` })).toMatchObject({ traceId: TRACE });
  });

  it.each([
    ['is malformed', { traceparent: 'x', tracestate: 'vendor=1' }],
    ['has a trace id of zeros', { traceparent: `00-${'0'.repeat(32)}-${SPAN}-01`, tracestate: 'vendor=1' }],
    ['has the invalid version ff', { traceparent: `ff-${TRACE}-${SPAN}-01` }],
    ['is in upper case', { traceparent: `00-${'A'.repeat(32)}-${SPAN}-01` }],
    ['has more fields than its version allows', { traceparent: `${TRACEPARENT}-x` }],
    ['is too long', { traceparent: `01-${TRACE}-${SPAN}-01-${'x'.repeat(4_000)}` }],
    ['is missing', { tracestate: 'vendor=1' }],
  ])('is absent if the traceparent %s', (_, headers) => {
    expect(parentIn(headers)).toBeUndefined();
  });

  it.each([
    [512, 512],
    [513, undefined],
  ])('for a tracestate of %i characters has a state with the length %s', (length, kept) => {
    const tracestate = `a=${'x'.repeat(254)},b=`.padEnd(length, 'y');
    const parent = parentIn({ traceparent: TRACEPARENT, tracestate });
    expect(parent?.traceState?.serialize().length).toBe(kept);
  });
});
