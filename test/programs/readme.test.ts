import { describe, expect, it, onTestFinished } from 'vitest';
import { engines } from '../support/engines.js';
import { OtlpCollector } from '../support/otlp-collector.js';
import { README, Reader } from '../support/readme-reader.js';

/** The service is started and built a few times. */
const READING_MS = 240_000;
const UUID = /[0-9a-f-]{36}/;

/** A block for a shell in a section of the README. */
function block(heading: string, index: number): string {
  const found = README.get(heading)?.shell[index];
  if (found === undefined) throw new Error(`README.md has no block ${index} below "${heading}".`);
  return found;
}

/** The body of an answer that curl has printed with its headers. */
function bodyOf(answer = ''): string {
  return answer.split('\r\n\r\n')[1] ?? '';
}

/** The one example in a section of the README. */
function example(heading: string): readonly [command: string, output: string] {
  const [found] = README.get(heading)?.examples ?? [];
  if (found === undefined) throw new Error(`README.md has no example below "${heading}".`);
  return found;
}

describe('a reader of the README', () => {
  it('has a test here for each of its blocks, but for the tests themselves and Docker', () => {
    const counts = [...README].map(([heading, { shell, examples }]) => [
      heading,
      shell.length + examples.length,
    ]);
    expect(Object.fromEntries(counts.filter(([, count]) => count !== 0))).toEqual({
      'Run it': 2,
      'Test it': 1,
      REST: 1,
      gRPC: 2,
      Errors: 1,
      TLS: 2,
      Traces: 1,
      'Run it on MySQL': 4,
      'With Docker': 3,
    });
  });

  it(
    'runs the service, and creates and gets routes over REST and gRPC',
    async () => {
      const reader = await Reader.start();
      await reader.startService(block('Run it', 0));

      const [, created, got] = await reader.pasteBlock(block('Run it', 1));
      expect(created).toMatch(/^HTTP\/1\.1 201 /);
      expect(got).toMatch(/^HTTP\/1\.1 200 /);
      expect(bodyOf(got)).toBe(bodyOf(created));

      const [methods, first, again] = await reader.pasteBlock(block('gRPC', 0));
      expect(methods).toContain('routing.v1.RouteService/CreateRoute\n');
      expect(again).toBe(first);
      expect(await reader.paste(block('gRPC', 1))).toBe(first);

      const [ask, answer] = example('REST');
      const shape = (text: string): string[] => Object.keys(JSON.parse(text) as object);
      expect(shape(await reader.paste(ask.replace(UUID, 'PUT-THE-ID-HERE')))).toEqual(shape(answer));

      const [wrong, refusal] = example('Errors');
      const [beginning = ''] = refusal.split('[…]');
      expect(await reader.paste(wrong)).toContain(beginning);
    },
    READING_MS,
  );

  it(
    'runs the service with TLS, and gets a route over REST and gRPC',
    async () => {
      const reader = await Reader.start();
      const stop = await reader.startService(block('Run it', 0));
      await reader.pasteBlock(block('Run it', 1));
      await stop();
      await reader.startService(block('TLS', 0));
      const [rest = '', grpc = ''] = await reader.pasteBlock(block('TLS', 1));
      expect(JSON.parse(rest)).toEqual(JSON.parse(grpc));
    },
    READING_MS,
  );

  it(
    'sends spans to a collector',
    async () => {
      const collector = await OtlpCollector.open();
      onTestFinished(() => collector.close());
      const replaced = { 'http://localhost:4318': collector.url, 'SAMPLER_ARG=0.01': 'SAMPLER_ARG=1' };
      const reader = await Reader.start(replaced);
      const stop = await reader.startService(block('Traces', 0));
      await reader.pasteBlock(block('Run it', 1));
      await stop();
      expect(collector.spans.map(({ name }) => name)).toContain('POST /v1/routing');
    },
    READING_MS,
  );

  it.each(engines.slice(1))(
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

      await reader.startService(block('Run it on MySQL', 2));
      await reader.startService(block('Run it on MySQL', 3));
      expect(bodyOf(stored)).toMatch(/^\{"id":/);
      expect(bodyOf(await reader.paste(get))).toBe(bodyOf(stored));
    },
    READING_MS,
  );
});
