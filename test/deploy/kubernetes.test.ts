import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Deployment } from 'kubernetes-types/apps/v1.js';
import type { HorizontalPodAutoscaler } from 'kubernetes-types/autoscaling/v2.js';
import type { Job } from 'kubernetes-types/batch/v1.js';
import type { ConfigMap, PodSpec, Secret, Service } from 'kubernetes-types/core/v1.js';
import type { NetworkPolicy } from 'kubernetes-types/networking/v1.js';
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.js';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readConfig, readMigration } from '../../src/settings/config.js';
import { SETTINGS } from '../../src/settings/table.js';
import {
  FOLDER,
  kustomization,
  problemsByType,
  readManifest,
  type Resource,
} from '../support/kubernetes-api.js';

const SECRETS = '/run/secrets/route-registry';

/** The part of the Prometheus operator's resource that is used; the API's own types lack it. */
interface PodMonitor {
  readonly spec: {
    readonly jobLabel: string;
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly podMetricsEndpoints: readonly { readonly port: string; readonly path: string }[];
  };
}

const configMap = readManifest('config-map.yaml') as ConfigMap;
const deployment = readManifest('deployment.yaml') as Deployment;
const job = readManifest('migrate-job.yaml') as Job;
const secret = readManifest('secret.example.yaml') as Secret;
const pods = [podOf(deployment.spec?.template.spec), podOf(job.spec?.template.spec)] as const;
const labels = deployment.spec?.template.metadata?.labels;

function podOf(spec: PodSpec | undefined): PodSpec {
  if (spec === undefined) throw new Error('It has no pods.');
  return spec;
}

describe('the Kubernetes manifests', () => {
  const resources = [...kustomization.resources, 'secret.example.yaml'];

  it('are all listed in the kustomization, except the example secret and what needs an operator', () => {
    const others = ['kustomization.yaml', 'pod-monitor.yaml'];
    expect(readdirSync(FOLDER).sort()).toEqual([...resources, ...others].sort());
  });

  const manifests = resources.map((file) => ({ file, content: readManifest(file) as Resource }));

  it('are valid for the API and have no unknown field', () => {
    expect(problemsByType(manifests)).toEqual([]);
  });
});

describe.each([
  ['the deployment', pods[0]],
  ['the job', pods[1]],
])('the pods of %s', (_name, pod) => {
  const [container] = pod.containers;

  it('have only the privileges that they need', () => {
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

  it('take their settings from the config map, and mount the secrets where the settings point', () => {
    expect(container?.envFrom).toEqual([{ configMapRef: { name: configMap.metadata?.name } }]);
    expect(pod.volumes).toMatchObject([{ secret: { secretName: secret.metadata?.name } }]);
    expect(container?.volumeMounts).toMatchObject([
      { name: pod.volumes?.[0]?.name, mountPath: SECRETS, readOnly: true },
    ]);
  });
});

describe('the settings in the config map', () => {
  const settings = configMap.data ?? {};

  it('name the files that the secret contains', () => {
    const files = Object.values(settings).filter((value) => value.startsWith(SECRETS));
    expect(files.map((file) => file.slice(SECRETS.length + 1)).sort()).toEqual(
      Object.keys(secret.stringData ?? {}).sort(),
    );
  });

  it('are settings of the service, with valid values', () => {
    const others = Object.entries(settings).filter(([, value]) => !value.startsWith(SECRETS));
    const env = {
      ...Object.fromEntries(others),
      DATABASE_URL: 'mysql://u:p@h/d',
      JWT_SECRET: 's'.repeat(32),
    };
    for (const name of Object.keys(settings)) expect(Object.keys(SETTINGS)).toContain(name);
    expect(() => readConfig(env)).not.toThrow();
    expect(() => readMigration(env)).not.toThrow();
  });

  it('stop the start with the placeholders of the example secret', () => {
    const { 'database-url': url, 'jwt-secret': placeholder } = secret.stringData ?? {};
    const parties = { JWT_ISSUER: 'i', JWT_AUDIENCE: 'a' };
    const read = () => readConfig({ ...parties, DATABASE_URL: url, JWT_SECRET: placeholder });
    expect(read).toThrow(
      /^The settings cannot be used:\n- DATABASE_URL must be .*\n- JWT_SECRET must be .*$/,
    );
  });

  it('give the service enough time to stop', () => {
    const { drainDelayMs } = readConfig({ DRAIN_DELAY_MS: settings['DRAIN_DELAY_MS'] });
    expect(drainDelayMs).toBe(5_000);
    expect(Number(pods[0].terminationGracePeriodSeconds) * 1_000).toBeGreaterThan(drainDelayMs + 10_000);
  });
});

describe('the probes of the service', () => {
  const { startupProbe, livenessProbe, readinessProbe } = pods[0].containers[0] ?? {};

  it('never restart a pod that waits for its database or its issuer', () => {
    expect([startupProbe, livenessProbe].map((probe) => probe?.httpGet?.path)).toEqual(['/livez', '/livez']);
  });

  it('send no calls to a pod that is not ready, and keep the old pods of a rollout until then', () => {
    expect(readinessProbe?.httpGet?.path).toBe('/readyz');
    expect(deployment.spec?.strategy).toEqual({
      type: 'RollingUpdate',
      rollingUpdate: { maxUnavailable: 0, maxSurge: 1 },
    });
  });
});

describe('an issuer', () => {
  it('can be reached on 443, and in the cluster on the ports of the pods of Keycloak', () => {
    const { spec } = readManifest('network-policy.yaml') as NetworkPolicy;
    const [anywhere, inCluster] = spec?.egress ?? [];
    expect(anywhere?.to).toBeUndefined();
    expect(anywhere?.ports).toContainEqual({ port: 443 });
    expect(inCluster).toEqual({ to: [{ namespaceSelector: {} }], ports: [{ port: 8080 }, { port: 8443 }] });
  });
});

describe('the resources that refer to the pods', () => {
  const services = ['service.yaml', 'grpc-service.yaml'].map((file) => readManifest(file) as Service);
  const policy = readManifest('network-policy.yaml') as NetworkPolicy;
  const ports = (pods[0].containers[0]?.ports ?? []).map(({ name }) => name);

  it('select the pods of the deployment, not those of the job', () => {
    const selectors = [
      deployment.spec?.selector.matchLabels,
      (readManifest('disruption-budget.yaml') as PodDisruptionBudget).spec?.selector?.matchLabels,
      ...services.map(({ spec }) => spec?.selector),
      ...(pods[0].topologySpreadConstraints ?? []).map(({ labelSelector }) => labelSelector?.matchLabels),
    ];
    for (const selector of selectors) expect(selector).toEqual(labels);
    expect(job.spec?.template.metadata?.labels).not.toMatchObject(labels ?? {});
  });

  it('include a network policy that selects the pods of the deployment and the job', () => {
    const selected = policy.spec?.podSelector.matchLabels ?? {};
    expect(labels).toMatchObject(selected);
    expect(job.spec?.template.metadata?.labels).toMatchObject(selected);
  });

  it('name the ports of the pods', () => {
    const probes = ['startupProbe', 'readinessProbe', 'livenessProbe'] as const;
    const named = [
      ...probes.map((probe) => pods[0].containers[0]?.[probe]?.httpGet?.port),
      ...services.flatMap(({ spec }) => (spec?.ports ?? []).map(({ targetPort }) => targetPort)),
      ...(policy.spec?.ingress ?? []).flatMap((rule) => (rule.ports ?? []).map(({ port }) => port)),
    ];
    for (const port of named) expect(ports).toContain(port);
    expect(new Set(named)).toEqual(new Set(ports));
  });

  it('include a monitor of their ops ports, by whose label they are the job that the alerts expect', () => {
    const { spec } = readManifest('pod-monitor.yaml') as PodMonitor;
    const { scrape_configs: jobs } = parse(
      readFileSync(resolve(FOLDER, '../prometheus/prometheus.yml'), 'utf8'),
    ) as { scrape_configs: { job_name: string }[] };
    expect(spec.selector.matchLabels).toEqual(labels);
    expect(jobs.map(({ job_name: job }) => job)).toEqual([labels?.[spec.jobLabel]]);
    expect(spec.podMetricsEndpoints.map(({ port, path }) => [port, path])).toEqual([['ops', '/metrics']]);
    expect(ports).toContain('ops');
  });

  it('include a headless service for gRPC, which resolves to every pod', () => {
    expect(services[1]?.spec?.clusterIP).toBe('None');
  });

  it('include an autoscaler for the deployment, which sets no number of replicas itself', () => {
    const { spec } = readManifest('autoscaler.yaml') as HorizontalPodAutoscaler;
    const { apiVersion, kind, metadata } = deployment;
    expect(spec?.scaleTargetRef).toEqual({ apiVersion, kind, name: metadata?.name });
    expect(deployment.spec).not.toHaveProperty('replicas');
    expect(spec?.minReplicas).toBeGreaterThan(1);
  });
});
