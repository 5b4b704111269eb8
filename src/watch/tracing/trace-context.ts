import {
  type Context,
  ROOT_CONTEXT,
  type Span,
  type TextMapGetter,
  type TextMapSetter,
  trace,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { TRACEPARENT, TRACESTATE } from '../../calls/call.js';

/** The most characters accepted in either value (W3C Trace Context 3.3.1.5). The SDK has no limit. */
const MAX_LENGTH = 512;

const propagator = new W3CTraceContextPropagator();

/** Reads one of the two keys; undefined unless it has exactly one value. */
type ReadKey = (key: string) => string | undefined;

const READER: TextMapGetter<ReadKey> = {
  keys: () => [TRACEPARENT, TRACESTATE],
  get(read, key) {
    const value = read(key);
    return value === undefined || value.length > MAX_LENGTH ? undefined : value;
  },
};

const WRITER: TextMapSetter<Map<string, string>> = {
  set: (metadata, key, value) => metadata.set(key, value),
};

/**
 * The parent in a client's trace context (W3C Trace Context, chapter 3); none if it is missing or malformed. A
 * `tracestate` of more than 512 characters is ignored.
 */
export function parentOf(read: ReadKey): Context {
  return propagator.extract(ROOT_CONTEXT, read, READER);
}

/**
 * The metadata that makes a call the child of a span. It always has both keys, so that no value from the client is
 * passed on; an empty `tracestate` equals none (3.3.1.1).
 */
export function metadataOf(span: Span): Map<string, string> {
  const metadata = new Map([[TRACESTATE, '']]);
  propagator.inject(trace.setSpan(ROOT_CONTEXT, span), metadata, WRITER);
  return metadata;
}
