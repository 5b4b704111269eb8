import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { OpenApi } from '@route-registry/transcoder/openapi';
import ts from 'typescript';
import { npmPackages } from '../../../test/support/npm-packages.js';

/** The contracts for which a client is generated and compiled. */
export const WITH_CLIENT: ReadonlySet<string> = new Set([
  'google.cloud.compute.v1',
  'google.cloud.dialogflow.v2',
  'google.cloud.kms.v1',
  'google.cloud.secretmanager.v1',
  'google.cloud.tasks.v2',
  'google.container.v1',
  'google.example.library.v1',
  'google.firestore.v1',
  'google.logging.v2',
  'google.pubsub.v1',
]);

const FILE = 'client.ts';
const OUTPUT_MAX_BYTES = 1 << 28;

/** The packages of a generated client: what makes its types, and what it is at run time. */
export function clientPackages(): Promise<string> {
  return npmPackages({ 'openapi-typescript': '7.13.0', 'openapi-fetch': '0.17.0' });
}

/** The types that openapi-typescript makes of a document. */
export async function clientTypes(document: object): Promise<string> {
  const program = join(await clientPackages(), '.bin/openapi-typescript');
  const options = { input: JSON.stringify(document), encoding: 'utf8', maxBuffer: OUTPUT_MAX_BYTES } as const;
  return execFileSync(program, { ...options, stdio: ['pipe', 'pipe', 'pipe'] });
}

/** What the compiler says, as strict as it goes, of the types that openapi-typescript makes of a document. */
export async function clientProblems(document: OpenApi): Promise<string[]> {
  const client = await clientTypes(document);
  const options = { strict: true, noEmit: true, exactOptionalPropertyTypes: true, types: [] };
  const host = ts.createCompilerHost(options);
  const read = host.getSourceFile.bind(host);
  const source = ts.createSourceFile(FILE, client, ts.ScriptTarget.ES2023);
  host.getSourceFile = (name, ...rest) => (name === FILE ? source : read(name, ...rest));
  const found = ts.getPreEmitDiagnostics(ts.createProgram([FILE], options, host));
  return found.map(({ messageText }) => `client: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`);
}
