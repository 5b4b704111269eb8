import { describe, expect, it, onTestFinished } from 'vitest';
import { engines } from '../support/engines.js';
import { itOn } from '../support/needs.js';
import { OtlpCollector } from '../support/otlp-collector.js';
import { blocksOf, Reader } from '../support/readme-reader.js';

/** The service is started and built a few times. */
const READING_MS = 240_000;

/** A block for a shell in a section of a document. */
function block(heading: string, index: number, path = 'README.md'): string {
  const found = blocksOf(path, 'sh').get(heading)?.[index];
  if (found === undefined) throw new Error(`${path} has no block ${index} below "${heading}".`);
  return found;
}

/** The body of an answer that curl has printed with its headers. */
function bodyOf(answer = ''): string {
  return answer.split('\r\n\r\n')[1] ?? '';
}

describe('a reader of the README', () => {
  it.each([
    [
      'README.md',
      // `npm test` runs by itself, and Docker's commands need an engine.
      { 'Run it': 2, 'Test it': 1, gRPC: 1, Errors: 1, 'Run it on MySQL': 2, 'With Docker': 1 },
    ],
    ['docs/tls.md', { TLS: 2 }],
    ['docs/metrics.md', { 'Send spans to a collector': 1 }],
    ['docs/scaling.md', { 'The gateway apart': 2 }],
  ])('has a test here for each block of %s', (path, counts) => {
    const blocks = [...blocksOf(path, 'sh')].map(([heading, { length }]) => [heading, length]);
    expect(Object.fromEntries(blocks)).toEqual(counts);
  });

  it(
    'runs the service, creates and gets routes over REST and gRPC, with TLS, and sends spans to a collector',
    async () => {
      const collector = await OtlpCollector.open();
      onTestFinished(() => collector.close());
      const replaced = { 'http://localhost:4318': collector.url, 'SAMPLER_ARG=0.01': 'SAMPLER_ARG=1' };
      const reader = await Reader.start(replaced);
      const stop = await reader.startService(block('Run it', 0));

      const [, created, got] = await reader.pasteBlock(block('Run it', 1));
      expect(created).toMatch(/^HTTP\/1\.1 201 /);
      expect(got).toMatch(/^HTTP\/1\.1 200 /);
      expect(bodyOf(got)).toBe(bodyOf(created));

      const [methods, first, again] = await reader.pasteBlock(block('gRPC', 0));
      expect(methods).toContain('routing.v1.RouteService/CreateRoute\n');
      expect(again).toBe(first);
      const ofSet = blocksOf('examples/README.md', 'sh').get('Generate code')?.[0];
      expect(await reader.paste(String(ofSet))).toBe(first);

      const refusal = String(blocksOf('README.md', 'json').get('Errors')?.[0]);
      expect(await reader.paste(block('Errors', 0))).toContain(refusal.split('[…]')[0]);
      await stop();

      const stopWithTls = await reader.startService(block('TLS', 0, 'docs/tls.md'));
      const [rest = '', grpc = ''] = await reader.pasteBlock(block('TLS', 1, 'docs/tls.md'));
      expect(JSON.parse(rest)).toEqual(JSON.parse(grpc));
      await stopWithTls();

      const traced = block('Send spans to a collector', 0, 'docs/metrics.md');
      const stopTraced = await reader.startService(traced);
      expect(collector.spans).toEqual([]);
      await reader.paste(block('Run it', 1).split('\n\n')[2] ?? '');
      await stopTraced();
      expect(collector.spans.map(({ name }) => name)).toContain('GET /v1/routing/{route_id}');
    },
    READING_MS,
  );

  itOn(engines.slice(1))(
    'runs the service on $name, whole and in halves, and finds a route again',
    async (engine) => {
      const database = await engine.createDatabase();
      onTestFinished(() => database.drop());
      const url = 'mysql://routes:password@127.0.0.1:3306/routes';
      expect(block('Run it on MySQL', 0)).toContain(url);
      const reader = await Reader.start({ [url]: database.url });
      const stop = await reader.startService(block('Run it on MySQL', 0));
      await reader.paste(block('Run it on MySQL', 1));
      const [, create = '', get = ''] = block('Run it', 1).split('\n\n');
      await reader.paste(create);
      const stored = await reader.paste(get);
      await stop();

      await reader.startService(block('The gateway apart', 0, 'docs/scaling.md'));
      await reader.startService(block('The gateway apart', 1, 'docs/scaling.md'));
      expect(bodyOf(stored)).toMatch(/^\{"id":/);
      expect(bodyOf(await reader.paste(get))).toBe(bodyOf(stored));
    },
    READING_MS,
  );
});
