import type { OpenApi } from '@route-registry/transcoder/openapi';
import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript';
import ts from 'typescript';

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

/** What the compiler says, as strict as it goes, of the types that openapi-typescript makes of a document. */
export async function clientProblems(document: OpenApi): Promise<string[]> {
  const client = astToString(await openapiTS(document as unknown as OpenAPI3));
  const options = { strict: true, noEmit: true, exactOptionalPropertyTypes: true, types: [] };
  const host = ts.createCompilerHost(options);
  const read = host.getSourceFile.bind(host);
  const source = ts.createSourceFile(FILE, client, ts.ScriptTarget.ES2023);
  host.getSourceFile = (name, ...rest) => (name === FILE ? source : read(name, ...rest));
  const found = ts.getPreEmitDiagnostics(ts.createProgram([FILE], options, host));
  return found.map(({ messageText }) => `client: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`);
}
