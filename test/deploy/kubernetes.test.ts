import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Deployment } from 'kubernetes-types/apps/v1.js';
import type { HorizontalPodAutoscaler } from 'kubernetes-types/autoscaling/v2.js';
import type { Job } from 'kubernetes-types/batch/v1.js';
import type { ConfigMap, PodSpec, Secret, Service } from 'kubernetes-types/core/v1.js';
import type { NetworkPolicy } from 'kubernetes-types/networking/v1.js';
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.js';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { readConfig, readMigration } from '../../src/settings/config.js';
import { SETTINGS } from '../../src/settings/settings.js';
import { installedProgram } from '../support/installed-program.js';

const FOLDER = resolve(import.meta.dirname, '../../deploy/kubernetes');
const SECRETS = '/run/secrets/route-registry';

interface Resource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata?: { readonly name?: string };
}

interface Kustomization {
  readonly resources: readonly string[];
  readonly images: readonly { readonly name: string; readonly newTag: string }[];
}

function read(file: string): unknown {
  return parse(readFileSync(resolve(FOLDER, file), 'utf8'), { strict: true, uniqueKeys: true });
}

const kustomization = read('kustomization.yaml') as Kustomization;
const configMap = read('config-map.yaml') as ConfigMap;
const deployment = read('deployment.yaml') as Deployment;
const job = read('migrate-job.yaml') as Job;
const secret = read('secret.example.yaml') as Secret;
const pods = [podOf(deployment.spec?.template.spec), podOf(job.spec?.template.spec)] as const;
const labels = deployment.spec?.template.metadata?.labels;

function podOf(spec: PodSpec | undefined): PodSpec {
  if (spec === undefined) throw new Error('It has no pods.');
  return spec;
}

/** A manifest and the name of its file. */
interface Manifest {
  readonly file: string;
  readonly content: Resource;
}

/** What the JSON Schemas of the API have against a manifest. They let unknown fields pass. */
async function problemsBySchema({ file, content }: Manifest): Promise<string[]> {
  const { apiVersion, kind } = content;
  const module = `kubernetes-models/${apiVersion}/${kind}`;
  const { [kind]: Model } = (await import(module)) as Record<
    string,
    new (content: Resource) => { validate(): void }
  >;
  if (Model === undefined) throw new Error(`The API has no ${kind}.`);
  try {
    new Model(content).validate();
    return [];
  } catch (error) {
    return [`${file}: ${(error as Error).message}`];
  }
}

/** What the compiler has against manifests as literals of the types of the API: unknown fields above all. */
function problemsByType(manifests: readonly Manifest[]): string[] {
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
    // Each has two lines.
    const line = text.slice(0, start).split('\n').length - 1;
    return `${manifests[line >> 1]?.file ?? ''}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
  });
}

describe('the manifests of Kubernetes', () => {
  const resources = [...kustomization.resources, 'secret.example.yaml'];

  it('are all listed, but for the example of a secret', () => {
    expect(readdirSync(FOLDER).sort()).toEqual([...resources, 'kustomization.yaml'].sort());
  });

  const manifests = resources.map((file) => ({ file, content: read(file) as Resource }));

  it('are what the API takes, without a field that it does not know', async () => {
    expect(problemsByType(manifests)).toEqual([]);
    expect((await Promise.all(manifests.map(problemsBySchema))).flat()).toEqual([]);
  });

  /** The deployment with a change to its specification. */
  const changed = (change: object): Manifest => ({
    file: 'wrong.yaml',
    content: { ...deployment, spec: { ...deployment.spec, ...change } } as unknown as Resource,
  });

  const { template } = deployment.spec ?? {};
  const containers = pods[0].containers.map(({ readinessProbe, ...rest }) => ({
    ...rest,
    readinessProb: readinessProbe,
  }));
  const misspelled = { ...template, spec: { ...template?.spec, containers } };

  it.each([
    ['a field that the API does not know', { minReadySecond: 5 }, `'"minReadySecond"' does not exist`],
    ['one within a container', { template: misspelled }, `'"readinessProb"' does not exist`],
    ['a field of the wrong type', { minReadySeconds: '5' }, "not assignable to type 'number'"],
    ['a field missing', { selector: undefined }, "'selector' is missing"],
  ])('would not be, by its types, with %s', (_name, change, problem) => {
    const [first = ''] = problemsByType([changed(change)]);
    expect(first).toMatch(/^wrong\.yaml: /);
    expect(first).toContain(problem);
  });

  it.each([
    ['a number that is not whole', { minReadySeconds: 0.5 }, 'minReadySeconds must be integer'],
    ['a number that is too large', { minReadySeconds: 2 ** 40 }, 'minReadySeconds must match format "int32"'],
    ['a field missing', { selector: undefined }, 'must have required property selector'],
  ])('would not be, by its schema, with %s', async (_name, change, problem) => {
    const [first = ''] = await problemsBySchema(changed(change));
    expect(first).toMatch(/^wrong\.yaml: /);
    expect(first).toContain(problem);
  });

  it('become what the pods run: kustomize puts the image and its tag into each', async () => {
    const kubectl = await installedProgram('kubectl', 'kubernetes-client', 'the tests of manifests need it');
    const { stdout } = await promisify(execFile)(kubectl, ['kustomize', FOLDER]);
    const built = parseAllDocuments(stdout).map((document) => document.toJS() as Resource);
    const named = (all: readonly Resource[]): string[] =>
      all.map(({ kind, metadata }) => `${kind} ${metadata?.name ?? ''}`).sort();
    expect(named(built)).toEqual(named(kustomization.resources.map((file) => read(file) as Resource)));
    expect(
      (await Promise.all(built.map((content) => problemsBySchema({ file: 'built', content })))).flat(),
    ).toEqual([]);
    expect(problemsByType(built.map((content) => ({ file: 'built', content })))).toEqual([]);
    const [{ name, newTag } = { name: '', newTag: '' }] = kustomization.images;
    const images = [...stdout.matchAll(/\bimage: (.*)$/gm)].map(([, image]) => image);
    expect(images).toEqual([`${name}:${newTag}`, `${name}:${newTag}`]);
  }, 120_000);
});

describe.each([
  ['the deployment', pods[0]],
  ['the job', pods[1]],
])('the pods of %s', (_name, pod) => {
  const [container] = pod.containers;

  it('have no rights that they do not need', () => {
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(pod.securityContext?.runAsUser).toBeGreaterThan(0);
    expect(container?.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(container?.resources).toMatchObject({ requests: { memory: expect.any(String) as unknown } });
  });

  it('run the image that the kustomization names', () => {
    expect(kustomization.images.map(({ name }) => name)).toEqual([container?.image]);
  });

  it('have their settings from the config map, and their secrets where the settings say', () => {
    expect(container?.envFrom).toEqual([{ configMapRef: { name: configMap.metadata?.name } }]);
    expect(pod.volumes).toMatchObject([{ secret: { secretName: secret.metadata?.name } }]);
    expect(container?.volumeMounts).toMatchObject([
      { name: pod.volumes?.[0]?.name, mountPath: SECRETS, readOnly: true },
    ]);
  });
});

describe('the settings in the config map', () => {
  const settings = configMap.data ?? {};

  it('name files that the secret has', () => {
    const files = Object.values(settings).filter((value) => value.startsWith(SECRETS));
    expect(files.map((file) => file.slice(SECRETS.length + 1)).sort()).toEqual(
      Object.keys(secret.stringData ?? {}).sort(),
    );
  });

  it('are settings of the service, with values that it takes', () => {
    const others = Object.entries(settings).filter(([, value]) => !value.startsWith(SECRETS));
    const env = {
      ...Object.fromEntries(others),
      DATABASE_URL: secret.stringData?.['database-url'],
      JWT_SECRET: secret.stringData?.['jwt-secret'],
    };
    for (const name of Object.keys(settings)) expect(Object.keys(SETTINGS)).toContain(name);
    expect(() => readConfig(env)).not.toThrow();
    expect(() => readMigration(env)).not.toThrow();
  });

  it('leave the service the time to stop that it needs', () => {
    const { drainDelayMs } = readConfig({ DRAIN_DELAY_MS: settings['DRAIN_DELAY_MS'] });
    expect(drainDelayMs).toBe(5_000);
    expect(Number(pods[0].terminationGracePeriodSeconds) * 1_000).toBeGreaterThan(drainDelayMs + 10_000);
  });

  it('wait for the database for less time than the start may take', () => {
    const { periodSeconds, failureThreshold } = pods[0].containers[0]?.startupProbe ?? {};
    const waitMs = Number(settings['DATABASE_WAIT_MS']);
    expect(Number(periodSeconds) * Number(failureThreshold) * 1_000).toBeGreaterThan(waitMs + 10_000);
  });
});

describe('what refers to the pods', () => {
  const services = ['service.yaml', 'grpc-service.yaml'].map((file) => read(file) as Service);
  const policy = read('network-policy.yaml') as NetworkPolicy;
  const ports = (pods[0].containers[0]?.ports ?? []).map(({ name }) => name);

  it('selects those of the deployment, and not those of the job', () => {
    const selectors = [
      deployment.spec?.selector.matchLabels,
      (read('disruption-budget.yaml') as PodDisruptionBudget).spec?.selector?.matchLabels,
      ...services.map(({ spec }) => spec?.selector),
      ...(pods[0].topologySpreadConstraints ?? []).map(({ labelSelector }) => labelSelector?.matchLabels),
    ];
    for (const selector of selectors) expect(selector).toEqual(labels);
    expect(job.spec?.template.metadata?.labels).not.toMatchObject(labels ?? {});
  });

  it('is the network policy for both', () => {
    const selected = policy.spec?.podSelector.matchLabels ?? {};
    expect(labels).toMatchObject(selected);
    expect(job.spec?.template.metadata?.labels).toMatchObject(selected);
  });

  it('names ports that they have', () => {
    const probes = ['startupProbe', 'readinessProbe', 'livenessProbe'] as const;
    const named = [
      ...probes.map((probe) => pods[0].containers[0]?.[probe]?.httpGet?.port),
      ...services.flatMap(({ spec }) => (spec?.ports ?? []).map(({ targetPort }) => targetPort)),
      ...(policy.spec?.ingress ?? []).flatMap((rule) => (rule.ports ?? []).map(({ port }) => port)),
    ];
    for (const port of named) expect(ports).toContain(port);
    expect(new Set(named)).toEqual(new Set(ports));
  });

  it('is the service for gRPC, which shows each of them', () => {
    expect(services[1]?.spec?.clusterIP).toBe('None');
  });

  it('is the autoscaler of the deployment, which sets no number itself', () => {
    const { spec } = read('autoscaler.yaml') as HorizontalPodAutoscaler;
    const { apiVersion, kind, metadata } = deployment;
    expect(spec?.scaleTargetRef).toEqual({ apiVersion, kind, name: metadata?.name });
    expect(deployment.spec).not.toHaveProperty('replicas');
    expect(spec?.minReplicas).toBeGreaterThan(1);
  });
});
