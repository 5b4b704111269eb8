import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { Agent, createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { createTranscoder, type Transcoder, type Upstream } from '@route-registry/transcoder';
import type { Binding } from '../src/template/binding.js';
import { readContract } from '../src/template/contract.js';
import { requirePlatform } from '../../../bench/platform.js';
import { type Contract, googleContracts } from './contracts.js';
import { descriptionProblems } from './descriptions.js';
import { type Outcome, outcomeTable, table } from './report.js';
import { sampleRequest } from './sample-request.js';

const PAGE = resolve(import.meta.dirname, '../docs/options.md');
const TABLES = /(?<=<!-- Written by `npm run corpus[^\n]*-->\n\n)[^]*(?=\n<!-- End of what the corpus wrote)/;
/** How many contracts are measured as they load: those with the largest sets. */
const MEASURED = 3;

/** The path of the latest call. */
let called = '';
let handler: Transcoder['handler'] | undefined;
const server = createServer((incoming, response) => handler?.(incoming, response));

/**
 * `npm run corpus`: loads the contract of each package of google-proto-files that has HTTP rules, sends a request for
 * each rule to an upstream that answers with an empty message, and prints what becomes of them, and what the largest
 * contracts take to load. Then it describes each in OpenAPI, and checks the documents. It fails where a document has a
 * problem, or docs/options.md shows anything else but times and heaps; `--write` writes it there.
 */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { write: { type: 'boolean' } } });
  if (values.write === true) requirePlatform(resolve(import.meta.dirname, '../../..'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const contracts = googleContracts();
  const sized = contracts.map((contract) => ({ contract, size: contract.image().length }));
  const largest = sized.sort((one, other) => other.size - one.size).slice(0, MEASURED);
  const loadings = largest.map(({ contract }) => measureLoading(contract));
  const outcomes: Outcome[] = [];
  for (const contract of contracts) outcomes.push(...(await outcomesOf(contract)));
  server.close();
  const loaded = new Set(
    outcomes.filter(({ fate }) => !fate.startsWith('refused')).map((each) => each.contract),
  );
  const described = sized.filter(({ contract }) => loaded.has(contract.name));
  const problems = await descriptionProblems(
    described.map(({ contract: { name, image } }) => () => ({ name, image: image() })),
  );

  const head = ['the largest', 'rules', 'set', 'time to load', 'heap'];
  const tables = `${outcomeTable(outcomes)}\n${table(head, loadings)}`;
  process.stdout.write(tables);
  process.stdout.write(`\n${described.length} documents of OpenAPI, ${problems.length} problems\n`);
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  if (problems.length > 0) process.exitCode = 1;
  const page = readFileSync(PAGE, 'utf8');
  // The heap may even shrink, when garbage of the previous contract is collected only now.
  const unmeasured = (tablesOf: string): string => tablesOf.replace(/[\d.]+ s \| -?[\d.]+ MB \|$/gm, '');
  if (values.write === true) {
    writeFileSync(
      PAGE,
      page.replace(TABLES, () => tables),
    );
  } else if (unmeasured(tables) !== unmeasured(TABLES.exec(page)?.[0] ?? '')) {
    process.stderr.write('docs/options.md of the package shows other tables; `--write` writes these.\n');
    process.exitCode = 1;
  }
}

function load(descriptorSet: Uint8Array): Transcoder {
  const empty = { code: 0, details: '', message: new Uint8Array(), answered: true };
  const upstream: Upstream = {
    unary({ path }) {
      called = path;
      return empty;
    },
    serverStream({ path }) {
      called = path;
      const coming = [empty.message, empty];
      return { next: () => Promise.resolve(coming.shift() ?? empty) };
    },
  };
  return createTranscoder({ descriptorSet, unsupported: 'skip', upstream });
}

/** A row about a contract that is loaded; needs Node's option `--expose-gc`. */
function measureLoading({ name, methods, image }: Contract): string[] {
  const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
  const descriptorSet = image();
  const heapBefore = heapUsed();
  const begun = performance.now();
  const transcoder = load(descriptorSet);
  const seconds = (performance.now() - begun) / 1000;
  const heap = heapUsed() - heapBefore;
  // Until here, the transcoder stays.
  ({ handler } = transcoder);
  const rules = methods.reduce((sum, each) => sum + each.rules, 0);
  const size = megabytes(descriptorSet.length);
  return [`\`${name}\``, `${rules}`, size, `${seconds.toFixed(1)} s`, megabytes(heap)];
}

function heapUsed(): number {
  gc?.();
  return process.memoryUsage().heapUsed;
}

/** What becomes of each rule of a contract. */
async function outcomesOf({ name: contract, methods, image }: Contract): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  let skipped: readonly string[] = [];
  let bindings: readonly Binding[] = [];
  let why = 'left out';
  try {
    ({ handler, skipped } = load(image()));
    ({ bindings } = readContract(image(), { unsupported: 'skip' }));
  } catch (error) {
    why = `refused: ${(error as Error).message}`;
  }
  // Each transcoder listens to the connections that it has answered on.
  const agent = new Agent({ keepAlive: true });
  for (const { service, callPath, rules } of methods) {
    const bound = bindings.filter((binding) => binding.callPath === callPath);
    for (const binding of bound) outcomes.push({ contract, service, fate: await fateOf(binding, agent) });
    const name = callPath.slice(1).replace('/', '.');
    const reasons = skipped.filter((sentence) => /^[\w.]+/.exec(sentence)?.[0] === name);
    for (let left = 0; left < rules - bound.length; left += 1) {
      // A reason that holds for several rules of a method is given once.
      outcomes.push({ contract, service, fate: reasons[left] ?? reasons.at(-1) ?? why });
    }
  }
  agent.destroy();
  return outcomes;
}

/** What becomes of a request for a binding. */
async function fateOf(binding: Binding, agent: Agent): Promise<string> {
  const { port } = server.address() as AddressInfo;
  const { body, ...line } = sampleRequest(binding);
  const headers = body === '' ? {} : { 'content-type': 'application/json' };
  called = '';
  const sent = request({ host: '127.0.0.1', port, headers, agent, ...line }).end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const answer = await text(response);
  const { statusCode = 0 } = response;
  return statusCode < 300 && called === binding.callPath ? 'answered' : `wrong: ${statusCode} ${answer}`;
}

await main();
