import type { SettingsReader } from './reader.js';

/** The variables with the URL of a collector, the more specific variable first. */
const ENDPOINTS = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'] as const;

/**
 * Whether spans are sent: a collector is set, and the SDK and its exporter are not switched off (OpenTelemetry
 * specification, SDK environment variables). The exporter reads its variables itself.
 */
export function tracesOf(settings: SettingsReader): boolean {
  const endpoint = ENDPOINTS.find((name) => settings.isGiven(name));
  // Any other value of the first counts as false, and of the second, as its default.
  const disabled = settings.get('OTEL_SDK_DISABLED').toLowerCase() === 'true';
  const off = settings.get('OTEL_TRACES_EXPORTER').trim().toLowerCase() === 'none';
  return !disabled && !off && endpoint !== undefined && settings.get(endpoint) !== undefined;
}

/** The variables of OpenTelemetry of which not every value is supported, each with its supported values. */
const SUPPORTED: Readonly<Record<string, readonly string[]>> = {
  OTEL_TRACES_EXPORTER: ['otlp', 'none'],
  OTEL_EXPORTER_OTLP_PROTOCOL: ['http/protobuf'],
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: ['http/protobuf'],
  OTEL_PROPAGATORS: ['tracecontext'],
};

/** The variables of OpenTelemetry with a value that has no effect. An empty variable counts as unset. */
export function unsupportedTraceVariables(env: NodeJS.ProcessEnv): string[] {
  return Object.entries(SUPPORTED).flatMap(([name, values]) => {
    const words = (env[name] ?? '').split(',').map((word) => word.trim().toLowerCase());
    return words.every((word) => word === '' || values.includes(word)) ? [] : [name];
  });
}
