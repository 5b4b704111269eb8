import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';
import { npmPackages } from '../../../test/support/npm-packages.js';

/** The part of openapi-zod-client that is used. */
interface Generator {
  readonly generateZodClientFromOpenAPI: (given: {
    readonly openApiDoc: object;
    readonly disableWriteToFile: true;
    readonly options: object;
  }) => Promise<string>;
}

/** A module that openapi-zod-client makes: its schemas by name. */
export interface ZodClient {
  readonly schemas: Readonly<Record<string, { parse(value: unknown): unknown }>>;
}

/** Makes a client of a document with openapi-zod-client, and loads it. Rejects if it cannot be made or loaded. */
export async function zodClient(document: object): Promise<ZodClient> {
  const modules = await npmPackages({ 'openapi-zod-client': '1.18.3' });
  const entry = pathToFileURL(join(modules, 'openapi-zod-client/dist/openapi-zod-client.cjs.js')).href;
  const { generateZodClientFromOpenAPI } = (await import(entry)) as Generator;
  const source = await generateZodClientFromOpenAPI({
    openApiDoc: structuredClone(document),
    disableWriteToFile: true,
    // Without it, it warns of operations whose only success is the default.
    options: { defaultStatusBehavior: 'auto-correct', shouldExportAllSchemas: true },
  });

  const folder = await mkdtemp(join(tmpdir(), 'zod-client-'));
  try {
    await symlink(modules, join(folder, 'node_modules'));
    const file = join(folder, 'client.mjs');
    const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 };
    await writeFile(file, ts.transpileModule(source, { compilerOptions }).outputText);
    return (await import(pathToFileURL(file).href)) as ZodClient;
  } finally {
    await rm(folder, { recursive: true });
  }
}
