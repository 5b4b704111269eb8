import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import ts from 'typescript';
import { parse } from 'yaml';

/** The folder of the manifests. */
export const FOLDER = resolve(import.meta.dirname, '../../deploy/kubernetes');

/** The fields that every resource of the API has. */
export interface Resource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata?: { readonly name?: string };
}

/** The content of `kustomization.yaml`. */
interface Kustomization {
  readonly resources: readonly string[];
  readonly images: readonly { readonly name: string; readonly newTag: string }[];
}

/** Parses a file of the folder. */
export function readManifest(file: string): unknown {
  return parse(readFileSync(resolve(FOLDER, file), 'utf8'), { strict: true, uniqueKeys: true });
}

export const kustomization = readManifest('kustomization.yaml') as Kustomization;

/** A manifest and its file name. */
export interface Manifest {
  readonly file: string;
  readonly content: Resource;
}

/** Type-checks manifests as literals of the API's types, which finds unknown fields. Returns the problems. */
export function problemsByType(manifests: readonly Manifest[]): string[] {
  const name = resolve(FOLDER, 'manifests.ts');
  const text = manifests
    .map(({ content }, i) => {
      const { apiVersion, kind } = content;
      const [group = '', version = ''] = apiVersion.includes('/')
        ? apiVersion.split('/')
        : ['core', apiVersion];
      const from = `kubernetes-types/${group.split('.')[0] ?? ''}/${version}.js`;
      return `import type { ${kind} as T${i} } from '${from}';\nexport const m${i}: T${i} = ${JSON.stringify(content)};\n`;
    })
    .join('');
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
    lib: ['lib.es5.d.ts'],
    module: ts.ModuleKind.NodeNext,
  };
  const host = ts.createCompilerHost(options);
  const getSourceFile = host.getSourceFile.bind(host);
  const fileExists = host.fileExists.bind(host);
  host.fileExists = (file) => file === name || fileExists(file);
  host.getSourceFile = (file, version, ...rest) =>
    file === name ? ts.createSourceFile(file, text, version) : getSourceFile(file, version, ...rest);
  const program = ts.createProgram([name], options, host);
  return ts.getPreEmitDiagnostics(program).map(({ messageText, start = 0 }) => {
    // Each manifest has two lines.
    const line = text.slice(0, start).split('\n').length - 1;
    return `${manifests[line >> 1]?.file ?? ''}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
  });
}
