import {
  type Attributes,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
} from '@opentelemetry/api';
import type { ObservedStatement, StatementObserver } from '../../store/statements.js';
import type { CurrentCall } from './call-spans.js';
import { failureOf } from './statement-failure.js';

/** The database of the statements, as named in spans. */
export type TracedDatabase =
  { readonly engine: 'mysql'; readonly database: string } | { readonly engine: 'sqlite' };

/** The only table in the statements of calls. */
const TABLE = 'routes';

/**
 * Creates a CLIENT span for each statement that serves a recorded call (OpenTelemetry semantic conventions, database
 * client spans). The span is a child of the call's span or, if the statement serves several calls, starts its own trace
 * with a link to each recorded call. It never holds the statement's text or values.
 *
 * @param tracer a tracer that records everything: the calls decide what is recorded
 */
export function statementSpans(
  tracer: Tracer,
  current: CurrentCall,
  database: TracedDatabase,
): StatementObserver {
  return {
    capture: () => current.getStore(),
    begin(statement) {
      const calls = statement.captured as readonly (SpanContext | undefined)[];
      const recorded = calls.filter((call) => call !== undefined).filter(isRecorded);
      const [first] = recorded;
      if (first === undefined) return () => undefined;
      const alone = statement.batchSize === 1;
      const attributes = { ...placeOf(database), ...attributesOf(statement) };
      const span = tracer.startSpan(
        `${attributes['db.operation.name']} ${TABLE}`,
        {
          kind: SpanKind.CLIENT,
          attributes,
          links: alone ? [] : recorded.map((context) => ({ context })),
        },
        alone ? trace.setSpanContext(ROOT_CONTEXT, first) : ROOT_CONTEXT,
      );
      return (error) => {
        if (error !== undefined)
          span.setAttributes(failureOf(error)).setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      };
    },
  };
}

function isRecorded({ traceFlags }: SpanContext): boolean {
  return (traceFlags & TraceFlags.SAMPLED) !== 0;
}

function placeOf(database: TracedDatabase): Attributes {
  return database.engine === 'mysql'
    ? { 'db.system.name': 'mysql', 'db.namespace': database.database }
    : { 'db.system.name': 'sqlite' };
}

function attributesOf({ operation, batchSize, attempt }: ObservedStatement) {
  return {
    'db.collection.name': TABLE,
    // The conventions define a batch as two or more.
    ...(batchSize === 1
      ? { 'db.operation.name': operation }
      : { 'db.operation.name': `BATCH ${operation}`, 'db.operation.batch.size': batchSize }),
    'route_registry.db.attempt': attempt,
  } satisfies Attributes;
}
