import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import {
  FOLDER,
  kustomization,
  problemsBySchema,
  problemsByType,
  readManifest,
  type Resource,
} from '../../support/kubernetes-api.js';
import { needs, programPath } from '../../support/needs.js';

it('kustomize builds valid manifests, with the image and its tag in each', needs('kubectl'), async () => {
  const { stdout } = await promisify(execFile)(programPath('kubectl'), ['kustomize', FOLDER]);
  const built = parseAllDocuments(stdout).map((document) => document.toJS() as Resource);
  const named = (all: readonly Resource[]): string[] =>
    all.map(({ kind, metadata }) => `${kind} ${metadata?.name ?? ''}`).sort();
  expect(named(built)).toEqual(named(kustomization.resources.map((file) => readManifest(file) as Resource)));
  expect(
    (await Promise.all(built.map((content) => problemsBySchema({ file: 'built', content })))).flat(),
  ).toEqual([]);
  expect(problemsByType(built.map((content) => ({ file: 'built', content })))).toEqual([]);
  const [{ name, newTag } = { name: '', newTag: '' }] = kustomization.images;
  const images = [...stdout.matchAll(/\bimage: (.*)$/gm)].map(([, image]) => image);
  expect(images).toEqual([`${name}:${newTag}`, `${name}:${newTag}`]);
});
