import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../support/free-port.js';
import { OtlpCollector } from '../support/otlp-collector.js';
import { moduleUrl, type Program, type Programs } from '../support/process.js';
import { createOver, httpUrlOf, programsOfTest } from '../support/program-fixture.js';
import { SERVICE_SETTINGS } from '../support/service.js';
import { clientSpan } from '../observability/tracing/traced-service.js';

/** A module that notes the URL of each imported module in a file. */
function notingImports(file: string): string {
  const hooks = moduleUrl(`
    import { appendFileSync } from 'node:fs';
    export async function resolve(specifier, context, next) {
      const resolved = await next(specifier, context);
      appendFileSync(${JSON.stringify(file)}, resolved.url + '\\n');
      return resolved;
    }
  `);
  return moduleUrl(`
    import { register } from 'node:module';
    register(${JSON.stringify(hooks)});
  `);
}

/** The address of a collector that does not run. */
const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };

let programs: Programs;

beforeEach(() => {
  programs = programsOfTest();
});

function run(settings: Readonly<Record<string, string>>): Program {
  const database = { DATABASE_URL: 'sqlite::memory:' };
  return programs.start('main', [], { ...SERVICE_SETTINGS, ...database, ...settings });
}

async function openCollector(): Promise<OtlpCollector> {
  const collector = await OtlpCollector.open();
  onTestFinished(() => collector.close());
  return collector;
}

async function createIn(program: Program, { traceparent } = clientSpan()): Promise<void> {
  const { status } = await createOver(await httpUrlOf(program), undefined, { traceparent });
  expect(status).toBe(201);
}

describe('the code of OpenTelemetry', () => {
  it.each([
    ['is not loaded without a collector', {}, 0],
    ['is not loaded when it is disabled', { ...ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' }, 0],
    ['is not loaded when there is no exporter', { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }, 0],
    ['is loaded with a collector', ENDPOINT, 5],
  ])('%s', async (_, settings, packages) => {
    const file = join(programs.folder, 'imports');
    const program = run({ ...settings, NODE_OPTIONS: `--import ${notingImports(file)}` });
    await createIn(program);
    await program.stop();
    const imports = readFileSync(file, 'utf8');
    expect(imports).toContain('/dist/app.js');
    const loaded = imports.match(/(?<=node_modules\/)@opentelemetry\/[^/]+/g) ?? [];
    expect(new Set(loaded).size).toBe(packages);
  });
});

it('spans are sent to the collector for traces alone', async () => {
  const collector = await openCollector();
  const [url = ''] = Object.values(collector.settings).filter((value) => value.startsWith('http'));
  const program = run({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/v1/traces` });
  await createIn(program);
  expect(await program.stop()).toMatchObject({ exitCode: 0 });
  expect(collector.spans.map(({ name }) => name)).toContain('POST /v1/routing');
});

describe('when the service stops', () => {
  it('the last spans are sent', async () => {
    const collector = await openCollector();
    const program = run({ ...collector.settings, OTEL_BSP_SCHEDULE_DELAY: '600000' });
    await createIn(program);
    expect(collector.spans).toEqual([]);
    expect(await program.stop()).toMatchObject({ exitCode: 0 });
    expect(collector.spans.map(({ name }) => name)).toContain('POST /v1/routing');
  });

  it('an unresponsive collector does not keep it from stopping', async () => {
    const silent = createServer((socket) => socket.resume().on('error', () => undefined));
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void silent.close());
    const { port } = silent.address() as { port: number };
    const program = run({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` });
    await createIn(program);
    expect(await program.stop()).toMatchObject({ exitCode: 0 });
    expect(program.lines().map(({ msg }) => msg)).toContain('closed the span queue');
  });
});

describe('when the collector is down', () => {
  it('the service keeps serving and logs once that spans are lost', async () => {
    const program = run({
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await freePort()}`,
      OTEL_EXPORTER_OTLP_TIMEOUT: '50',
      OTEL_BSP_SCHEDULE_DELAY: '10',
    });
    await createIn(program);
    expect(await program.line('tracing is impaired')).toMatchObject({ level: 'warn', leftOut: 0 });
    await createIn(program);
    await createIn(program);
    expect(await program.stop()).toMatchObject({ exitCode: 0 });
    expect(program.lines().filter(({ msg }) => msg === 'tracing is impaired')).toHaveLength(1);
  });
});
