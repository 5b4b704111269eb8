import { describe, expect, it, onTestFinished } from 'vitest';
import { engines } from '../support/engines.js';
import { itOn, needs } from '../support/needs.js';
import { NOBODY } from '../support/other-user.js';
import { OtlpCollector } from '../support/otlp-collector.js';
import { blocksOf, Reader } from '../support/readme-reader.js';

/** Allows for building and starting the service a few times. */
const READING_MS = 240_000;

/** A shell block in a section of a document. */
function block(heading: string, index: number, path = 'README.md'): string {
  const found = blocksOf(path, 'sh').get(heading)?.[index];
  if (found === undefined) throw new Error(`${path} has no block ${index} below "${heading}".`);
  return found;
}

/** A response that the README shows. */
function responseInReadme(index: number): Record<string, unknown> {
  return JSON.parse(blocksOf('README.md', 'json').get('Call it')?.[index] ?? '') as Record<string, unknown>;
}

/** The route that a command printed, without the values that differ each time. */
function routeIn(printed = ''): unknown {
  return { ...(JSON.parse(printed) as object), id: '', createdAt: '' };
}

/** Creates a route by the first commands of the README, gets it, and calls the client. */
async function expectFirstAnswers(reader: Reader): Promise<void> {
  const [, create = '', get = ''] = block('Call it', 0).split('\n\n');
  const created = await reader.paste(create);
  expect(routeIn(created)).toEqual(routeIn(JSON.stringify(responseInReadme(0))));
  expect(await reader.paste(get)).toBe(created);
  expect(await reader.paste(block('Call it', 2))).toContain("handler: 'getUser'");
}

describe('a reader of the README', () => {
  it.each([
    // The block for Docker is counted but not run, since it needs a Docker engine.
    ['README.md', { 'Run it': 1, 'Call it': 3, 'On MySQL, and with Docker': 1 }],
    ['docs/calling.md', { gRPC: 1, Errors: 1 }],
    ['docs/tls.md', { TLS: 2 }],
    ['docs/metrics.md', { 'Send spans to a collector': 1 }],
    ['docs/scaling.md', { 'A separate gateway': 2 }],
  ])('finds in %s the shell blocks that are tested here, and no others', (path, counts) => {
    const blocks = [...blocksOf(path, 'sh')].map(([heading, { length }]) => [heading, length]);
    expect(Object.fromEntries(blocks)).toEqual(counts);
  });

  it(
    'can run the service, create and get routes over REST and gRPC, use TLS and send spans to a collector',
    async () => {
      const collector = await OtlpCollector.open();
      onTestFinished(() => collector.close());
      const replaced = { 'http://localhost:4318': collector.url, 'SAMPLER_ARG=0.01': 'SAMPLER_ARG=1' };
      const reader = await Reader.start(replaced);
      const stop = await reader.startService(block('Run it', 0));
      const [token = '', , get = ''] = block('Call it', 0).split('\n\n');
      await reader.paste(token);
      await expectFirstAnswers(reader);

      const [methods, first] = await reader.pasteBlock(block('gRPC', 0, 'docs/calling.md'));
      expect(methods).toContain('routing.v1.RouteService/CreateRoute\n');
      expect(routeIn(first)).toEqual(routeIn(JSON.stringify(responseInReadme(1))));
      const ofSet = blocksOf('examples/README.md', 'sh').get('Generate code')?.[0];
      expect(routeIn(await reader.paste(String(ofSet)))).toEqual(routeIn(first));

      const refusal = String(blocksOf('docs/calling.md', 'json').get('Errors')?.[0]);
      expect(await reader.paste(block('Errors', 0, 'docs/calling.md'))).toContain(refusal.split('[…]')[0]);
      await stop();

      const stopWithTls = await reader.startService(block('TLS', 0, 'docs/tls.md'));
      const [rest = '', grpc = ''] = await reader.pasteBlock(block('TLS', 1, 'docs/tls.md'));
      expect(JSON.parse(rest)).toEqual(JSON.parse(grpc));
      await stopWithTls();

      const traced = block('Send spans to a collector', 0, 'docs/metrics.md');
      const stopTraced = await reader.startService(traced);
      expect(collector.spans).toEqual([]);
      await reader.paste(get);
      await stopTraced();
      expect(collector.spans.map(({ name }) => name)).toContain('GET /v1/routing/{route_id}');
    },
    READING_MS,
  );

  it('can make the token before the service starts', { timeout: READING_MS }, async () => {
    const reader = await Reader.start();
    await reader.paste(block('Call it', 0).split('\n\n')[0] ?? '');
    await reader.startService(block('Run it', 0));
    await expectFirstAnswers(reader);
  });

  it(
    'can be another user than the owner of the files',
    { ...needs('another user'), timeout: READING_MS },
    async () => {
      const reader = await Reader.start({}, NOBODY);
      const [token = ''] = block('Call it', 0).split('\n\n');
      // Both at the same time, as in two terminals.
      await Promise.all([reader.startService(block('Run it', 0)), reader.paste(token)]);
      await expectFirstAnswers(reader);
    },
  );

  it(
    'gets the documented responses over gRPC with grpcurl',
    { ...needs('grpcurl'), timeout: READING_MS },
    async () => {
      const reader = await Reader.start();
      await reader.startService(block('Run it', 0));
      await reader.pasteBlock(block('Call it', 0));
      const [created, got] = await reader.pasteBlock(block('Call it', 1));
      const answer = JSON.stringify(responseInReadme(1), null, 2);
      for (const printed of [created, got]) {
        expect(routeIn(printed)).toEqual(routeIn(answer));
        expect(printed?.split('\n')).toHaveLength(answer.split('\n').length + 1);
      }
    },
  );

  itOn(engines.slice(1))(
    'can run the service on $name in one process and then in two, with the same routes',
    async (engine) => {
      const database = await engine.createDatabase();
      onTestFinished(() => database.drop());
      const url = 'mysql://routes:password@127.0.0.1:3306/routes';
      const [start = '', token = ''] = blocksOf('docs/operations.md', 'sh').get('On MySQL') ?? [];
      expect(start).toContain(url);
      const reader = await Reader.start({ [url]: database.url });
      const stop = await reader.startService(start);
      await reader.paste(token);
      const [, create = '', get = ''] = block('Call it', 0).split('\n\n');
      await reader.paste(create);
      const stored = await reader.paste(get);
      await stop();

      await reader.startService(block('A separate gateway', 0, 'docs/scaling.md'));
      await reader.startService(block('A separate gateway', 1, 'docs/scaling.md'));
      expect(stored).toMatch(/^\{"id":/);
      expect(await reader.paste(get)).toBe(stored);
    },
    READING_MS,
  );
});
