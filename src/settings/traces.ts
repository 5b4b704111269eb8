import type { SettingsReader } from './settings.js';

/**
 * Whether spans are sent, by two variables of the OpenTelemetry specification (SDK environment variables): there is a
 * collector, and the SDK is not disabled. Any value of `OTEL_SDK_DISABLED` except `true`, in any case, is false.
 */
export function tracesOf(settings: SettingsReader): boolean {
  const endpoint = settings.given('OTEL_EXPORTER_OTLP_ENDPOINT');
  if (endpoint === undefined || settings.text('OTEL_SDK_DISABLED').toLowerCase() === 'true') return false;
  // Not shown: it may hold a password.
  if (!/^https?:/.test(endpoint) || !URL.canParse(endpoint))
    settings.refuse('OTEL_EXPORTER_OTLP_ENDPOINT', 'must be the http or https URL of a collector.');
  return true;
}
