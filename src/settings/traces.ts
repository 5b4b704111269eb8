import type { SettingsReader } from './settings.js';

/**
 * Whether spans are sent: a collector is set, and the SDK is not disabled (OpenTelemetry specification, SDK environment
 * variables). Any value of `OTEL_SDK_DISABLED` except `true`, in upper or lower case, counts as false.
 */
export function tracesOf(settings: SettingsReader): boolean {
  const endpoint = settings.given('OTEL_EXPORTER_OTLP_ENDPOINT');
  if (endpoint === undefined || settings.text('OTEL_SDK_DISABLED').toLowerCase() === 'true') return false;
  // Not shown: it may hold a password.
  if (!/^https?:/.test(endpoint) || !URL.canParse(endpoint))
    settings.refuse(
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      'must be the http or https URL of a collector; got another form.',
    );
  return true;
}
