import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, it, onTestFinished } from 'vitest';
import { errorOf, httpRequest } from '../../packages/transcoder/test/support/http-request.js';
import { unpackFiles } from '../support/debian-packages.js';
import { needs, programPath } from '../support/needs.js';
import { buildDescriptorSet, GOOGLE_FILES } from './rig/descriptor-set.js';
import { startReadmeCommand } from './rig/readme-command.js';
import { startProgram } from './rig/started-program.js';

const API = 'github.com/containerd/containerd';

/** The files of the services, and what they import. */
const FILES = [
  ...['containers/v1/containers', 'events/v1/events', 'images/v1/images', 'namespaces/v1/namespace'].map(
    (name) => `api/services/${name}`,
  ),
  ...['container', 'content', 'image', 'namespace', 'snapshot', 'task'].map((name) => `api/events/${name}`),
  ...['descriptor', 'mount'].map((name) => `api/types/${name}`),
  'protobuf/plugin/fieldpath',
].map((name) => `${API}/${name}.proto`);

/** Starts a containerd that keeps everything in a folder. @returns the path of its socket */
async function startContainerd(folder: string): Promise<string> {
  const socket = join(folder, 'containerd.sock');
  const config = [
    'version = 2',
    `root = "${folder}/root"`,
    `state = "${folder}/state"`,
    // Kubernetes, and a folder in /opt.
    'disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.internal.v1.opt"]',
    `grpc = { address = "${socket}" }`,
    `ttrpc = { address = "${socket}.ttrpc" }`,
  ];
  await writeFile(join(folder, 'config.toml'), config.join('\n'));
  const args = ['--config', join(folder, 'config.toml')];
  await startProgram(programPath('containerd'), args, { cwd: folder, at: { path: socket } });
  return socket;
}

/** Sends a request for a stream. @returns the JSON values of its lines so far */
function follow(url: string): readonly unknown[] {
  const values: unknown[] = [];
  const leaving = new AbortController();
  const read = async (): Promise<void> => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(url, { method: 'POST', headers, body: '{}', signal: leaving.signal });
    let text = '';
    const decoder = new TextDecoder();
    for await (const piece of response.body as ReadableStream<Uint8Array>) {
      const lines = (text + decoder.decode(piece, { stream: true })).split('\n');
      text = String(lines.pop());
      values.push(...lines.map((line) => JSON.parse(line) as unknown));
    }
  };
  const ended = read().catch((error: unknown) => values.push(error));
  onTestFinished(async () => {
    leaving.abort();
    await ended;
  });
  return values;
}

it(
  'containerd serves its containers, images and events, in the namespace of a header',
  needs('containerd', 'another user'),
  async () => {
    const root = await unpackFiles([
      'golang-github-containerd-containerd-dev',
      'golang-github-gogo-protobuf-dev',
    ]);
    const go = join(root, 'usr/share/gocode/src');
    const folder = await mkdtemp(join(inject('temporaryFolder'), 'containerd-'));
    const set = await buildDescriptorSet(folder, {
      ...Object.fromEntries(FILES.map((name) => [name, join(go, name)])),
      'gogoproto/gogo.proto': join(go, 'github.com/gogo/protobuf/gogoproto/gogo.proto'),
      'google/rpc/status.proto': join(GOOGLE_FILES, 'google/rpc/status.proto'),
    });
    const socket = await startContainerd(folder);
    const origin = await startReadmeCommand('containerd', `unix:${socket}`, set);
    const post = (method: string, body: object, namespace?: string) =>
      httpRequest(origin, {
        method: 'POST',
        path: `/containerd.services.${method}`,
        headers: {
          'content-type': 'application/json',
          ...(namespace !== undefined && { 'containerd-namespace': namespace }),
        },
        body: JSON.stringify(body),
      });

    const events = follow(`${origin}/containerd.services.events.v1.Events/Subscribe`);
    let tried = 0;
    // Nothing tells when a subscription has begun.
    const createNamespace = async (): Promise<unknown> => {
      const name = `try-${(tried += 1)}`;
      await post('namespaces.v1.Namespaces/Create', { namespace: { name } }, name);
      return events[0];
    };
    await expect.poll(createNamespace).toMatchObject({
      topic: '/namespaces/create',
      event: { name: expect.stringContaining('try-') as string },
    });
    const created = await post('namespaces.v1.Namespaces/Create', { namespace: { name: 'shop' } }, 'shop');
    expect(JSON.parse(created.text)).toEqual({ namespace: { name: 'shop', labels: {} } });

    const spec = { '@type': 'type.googleapis.com/containerd.types.Mount', type: 'bind' };
    const container = { id: 'till', image: 'till:1', runtime: { name: 'io.containerd.runc.v2' }, spec };
    const kept = await post('containers.v1.Containers/Create', { container }, 'shop');
    expect(JSON.parse(kept.text)).toMatchObject({ container });
    await expect
      .poll(() => events.at(-1))
      .toMatchObject({ namespace: 'shop', topic: '/containers/create', event: { id: 'till' } });
    const listed = await post('containers.v1.Containers/List', { filters: ['image==till:1'] }, 'shop');
    expect(JSON.parse(listed.text)).toMatchObject({ containers: [container] });
    const elsewhere = await post('containers.v1.Containers/List', {}, 'default');
    expect(JSON.parse(elsewhere.text)).toEqual({ containers: [] });
    expect(errorOf(await post('containers.v1.Containers/List', {}))).toMatchObject({
      status: 'FAILED_PRECONDITION',
      message: 'namespace is required: failed precondition',
    });

    const target = {
      mediaType: 'application/vnd.oci.image.manifest.v1+json',
      digest: `sha256:${'0'.repeat(64)}`,
      size: '2',
    };
    const image = { name: 'till:1', target };
    await post('images.v1.Images/Create', { image }, 'shop');
    const images = await post('images.v1.Images/List', {}, 'shop');
    expect(JSON.parse(images.text)).toMatchObject({ images: [image] });
    expect(errorOf(await post('images.v1.Images/Get', { name: 'none' }, 'shop'))).toMatchObject({
      code: 404,
    });
  },
);
