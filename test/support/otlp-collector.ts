import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { expect } from 'vitest';

/** A span as a collector receives it (opentelemetry/proto/trace/v1/trace.proto). Ids are in hex. */
export interface Received {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a root span. */
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly name: string;
  readonly kind: 'INTERNAL' | 'SERVER' | 'CLIENT';
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status: 'UNSET' | 'OK' | 'ERROR';
  /** The resource attributes, which all spans of the process share. */
  readonly resource: Readonly<Record<string, unknown>>;
}

/** A collector for OTLP/HTTP with protobuf, on a free loopback port. */
export class OtlpCollector {
  readonly spans: Received[] = [];
  /** The bodies of all requests, as received. */
  readonly bodies: Buffer[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      void buffer(request).then((body) => {
        this.bodies.push(body);
        const gzip = request.headers['content-encoding'] === 'gzip';
        this.spans.push(...spansIn(gzip ? gunzipSync(body) : body));
        response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
      });
    });
  }

  static async open(): Promise<OtlpCollector> {
    const collector = new OtlpCollector();
    await once(collector.#server.listen(0, '127.0.0.1'), 'listening');
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Settings of a service that exports its spans to this collector, with a short delay. */
  get settings(): Record<string, string> {
    return { OTEL_EXPORTER_OTLP_ENDPOINT: this.url, OTEL_BSP_SCHEDULE_DELAY: '20' };
  }

  /** Waits for `count` matching spans, and returns them. */
  async received(count: number, fits: (span: Received) => boolean): Promise<Received[]> {
    await expect.poll(() => this.spans.filter(fits).length, { timeout: 10_000 }).toBe(count);
    return this.spans.filter(fits);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

type Value = Uint8Array | bigint | number | string;
/** All values of each field of a message, by field number. Nested messages are not decoded. */
type Fields = ReadonlyMap<number, readonly Value[]>;

function fieldsOf(message: Uint8Array): Fields {
  const reader = new BinaryReader(message);
  const fields = new Map<number, Value[]>();
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    fields.set(number, [...(fields.get(number) ?? []), valueOf(reader, type)]);
  }
  return fields;
}

function valueOf(reader: BinaryReader, type: WireType): Value {
  if (type === WireType.LengthDelimited) return reader.bytes();
  if (type === WireType.Bit64) return reader.fixed64();
  if (type === WireType.Bit32) return reader.fixed32();
  return reader.int64();
}

const all = (fields: Fields, number: number): Uint8Array[] => (fields.get(number) ?? []) as Uint8Array[];
const bytes = (fields: Fields, number: number): Buffer => Buffer.from(all(fields, number)[0] ?? []);
const hex = (fields: Fields, number: number): string => bytes(fields, number).toString('hex');
const text = (fields: Fields, number: number): string => bytes(fields, number).toString();
const whole = (fields: Fields, number: number): number => Number(fields.get(number)?.[0] ?? 0);

function spansIn(request: Uint8Array): Received[] {
  return all(fieldsOf(request), 1)
    .map(fieldsOf)
    .flatMap((resourceSpans) => {
      const resource = attributesOf(fieldsOf(bytes(resourceSpans, 1)), 1);
      const scopes = all(resourceSpans, 2).map(fieldsOf);
      return scopes.flatMap((scope) => all(scope, 2).map((span) => spanOf(fieldsOf(span), resource)));
    });
}

function spanOf(span: Fields, resource: Received['resource']): Received {
  return {
    traceId: hex(span, 1),
    spanId: hex(span, 2),
    traceState: text(span, 3),
    parentSpanId: hex(span, 4),
    name: text(span, 5),
    kind: (['INTERNAL', 'INTERNAL', 'SERVER', 'CLIENT'] as const)[whole(span, 6)] ?? 'INTERNAL',
    attributes: attributesOf(span, 9),
    links: all(span, 13)
      .map(fieldsOf)
      .map((link) => ({ traceId: hex(link, 1), spanId: hex(link, 2) })),
    status: (['UNSET', 'OK', 'ERROR'] as const)[whole(fieldsOf(bytes(span, 15)), 3)] ?? 'UNSET',
    resource,
  };
}

function attributesOf(message: Fields, number: number): Record<string, unknown> {
  const pairs = all(message, number).map(fieldsOf);
  return Object.fromEntries(pairs.map((pair) => [text(pair, 1), anyValue(fieldsOf(bytes(pair, 2)))]));
}

/** Decodes an `AnyValue` (opentelemetry/proto/common/v1/common.proto): a string, a boolean or an integer. */
function anyValue(value: Fields): unknown {
  if (value.has(1)) return text(value, 1);
  if (value.has(2)) return whole(value, 2) === 1;
  return whole(value, 3);
}
